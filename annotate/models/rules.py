"""The rating rules a new project begins with: version 1, as the migrations put it into the database.

A text like any other, so people read it in their language. What managers publish is shown as they wrote it.
"""

from django.utils.translation import gettext_noop

RULES = gettext_noop("""\
You rate a solution **step by step**, from the top. For each step ask one question: is it, after the steps before it, \
a good thing to write down? Stop at the first step that is bad; what follows it is not rated.

## The three ratings

| rating | means |
|---|---|
| **great** | right, checked in about half a minute, and a good student might try it |
| **okay** | right and checkable, but it repeats, stalls or adds nothing |
| **bad** | something in it is wrong, cannot be checked, or leads nowhere |

- You may use a calculator or look something up.
- An attempt that is sensible but does not work out is still **great**. So is a step that notices an earlier slip.
- The last step is great only if its answer is right **and** follows from the steps before it.
- Judge the substance. A missing full stop is nothing; a missing case is an error.
- A small inaccuracy that changes nothing is **okay**: go on and find the real mistake.
- Nonsense, going round in circles, and leaning on a figure that is not there are **bad**.

## Examples

**A jar holds 24 sweets. A third of them are red. How many are not red?**

| step | rating | why |
|---|---|---|
| A third of 24 is $24 / 3 = 8$, so 8 sweets are red. | **great** | right, and the natural beginning |
| So there are 8 red sweets in the jar. | **okay** | true, but it was said already |
| The others are $24 - 8 = 18$. | **bad** | $24 - 8$ is 16 |

**For which $x$ is $x^2 = 9$?**

| step | rating | why |
|---|---|---|
| I try $x = 3$: $3^2 = 9$, so it works. | **great** | a sensible thing to try, and right |
| So $x = 3$ is the only one. | **bad** | $x = -3$ works, too |

**A shop sells 3 pens for €2. What do 12 pens cost?**

| step | rating | why |
|---|---|---|
| 12 pens are 4 times 3 pens, so they cost $4 \\cdot 2 = 8$ euros. | **great** | short and complete |
| Pens are useful for writing. | **bad** | off the topic: it leads nowhere |

## When you are not sure

- Mark the step as **unsure** and give your best rating all the same. Use it sparingly: a manager reads each one.
- **Give up** only after two or three minutes of being stuck, and say where.
- **Bad problem**: a figure is missing, the premise is false, or nothing is asked. Say which.
- The answer shown is only the **current guess**. If the solution is right and the guess is wrong, say so beside it.
""")

"""Solutions as models write them: their one final answer is found and compared, and nothing else is taken for it."""

from __future__ import annotations

import time

import pytest

from prm_backend.grading import AnswerKind, Gold, GraderPool
from prm_backend.text.steps import extract_answer

RIGHT = [
    ("So $a = \\boxed{6}$ and $b = \\boxed{6}$.", "6,6"),
    ("It is \\(\\boxed{6}\\) or \\(\\boxed{11}\\).", "6,11"), ("\\[\\boxed{6}\\]\n\n\\(\\boxed{6}\\)", "6"),
    ("The interest is \\boxed{75}, so we have 575. Final answer: The final answer is $575$.", "575"),
    ("\\boxed{75}\n\nThe final answer is the interest.", "75"), ("Adding up.\n#### So the answer is 31.", "31"),
    ("We add them.\nAnswer $31$", "31"), ("Hence \\(k = 31\\).", "31"), ("The result is −31.", "-31"),
    ("The answer is 31 (because 30+1=31).", "31"),
    ("We add 3 and 4 to get 7.\n\n# Answer\n\n7", "7"), ("So $x = \\boxed{7}$.", "7"),
    ("First \\boxed{3}. Wait, that is wrong. So \\boxed{7}.", "7"), ("3*4=12\n#### 12", "12"),
    ("The answer is 12.", "12"), ("The answer is: 12", "12"), ("Therefore, the answer is $12$.", "12"),
    ("Therefore the final answer is \\(12\\).", "12"), ("**Answer: 12**", "12"), ("Answer: **12**", "12"),
    ("**Final Answer:** 12", "12"), ("## Final Answer\n\n12", "12"),
    ("Final answer: $\\boxed{\\frac{3}{4}}$", "0.75"), ("So the answer is (C).", "C"),
    ("The correct answer is C.", "C"), ("The answer is C) 12", "C"), ("Thus, the answer is option B.", "B"),
    ("The correct option is (D) 15.", "D"), ("The correct choice is **A**.", "A"),
    ("The answer is $\\textbf{(B)}\\ 12$.", "B"), ("Answer: (E)", "E"), ("Hence option (A) is correct.", "A"),
    ("Therefore, x = 5.", "5"), ("Thus $x=5$.", "5"), ("Hence, the value is 12.", "12"),
    ("Therefore, the area is $12\\pi$ square units.", "12\\pi"),
    ("Thus the probability is $\\frac{1}{6}$.", "1/6"), ("The answer is \\$1,234.50.", "1234.5"),
    ("The answer is 50%.", "50"), ("The answer is 3.5 hours.", "3.5"), ("The answer is -7.", "-7"),
    ("The answer is $-\\frac{1}{2}$.", "-0.5"), ("The answer is 12, because 3*4=12.", "12"),
    ("The answer is 12 since 3*4=12", "12"), ("The answer is not 12. The answer is 13.", "13"),
    ("The answer is 12 apples.", "12"), ("The answer is 5 and 6.", "5,6"),
    ("The solutions are $x=2$ and $x=3$.", "2,3"), ("The solution is $x = 4$.", "4"),
    ("The solution set is $\\{1,2\\}$.", "\\{1,2\\}"), ("I think the answer should be 42.", "42"),
    ("Our answer is 42.", "42"), ("My answer: 42", "42"), ("ANSWER: 42", "42"),
    ("The final answer is \\boxed{42}. I hope it is correct.", "42"),
    ("Final Answer: The final answer is $42$. I hope it is correct.", "42"), ("answer = 42", "42"),
    ("$$\\boxed{42}$$", "42"), ("\\[\n\\boxed{\\frac{1}{2}}\n\\]", "1/2"), ("\\boxed{x = 42}", "42"),
    ("\\boxed{42\\text{ cm}}", "42"), ("\\boxed{\\text{(B)}}", "B"), ("\\boxed{B}", "B"),
    ("\\boxed{\\textbf{(A) } 12}", "A"), ("\\boxed {42}", "42"), ("\\fbox{42}", "42"), ("\\boxed{1, 2}", "2,1"),
    ("$\\boxed{1}$ and $\\boxed{2}$", "1,2"), ("x = \\boxed{1} or x = \\boxed{2}", "1,2"),
    ("\\boxed{12} is the number of ways, out of 20.", "12"),
    ("<think>The answer is 3.</think>\nThe answer is 4.", "4"), ("<answer>42</answer>", "42"),
    ("<think>maybe \\boxed{3}</think> \\boxed{4}", "4"), ("#### 1,234", "1234"), ("#### $12", "12"),
    ("Work\n#### 12\n", "12"), ("#### -5", "-5"), ("Answer\n12", "12"), ("**Answer**\n\n12", "12"),
    ("### Answer\n\n$12$", "12"), ("The answer is **12**.", "12"), ("The answer is:\n\n12", "12"),
    ("The answer is:\n\n$$12$$", "12"), ("The answer is\n\\[12\\]", "12"),
    ("So our final answer is: $\\frac{7}{3}$", "7/3"), ("Therefore the answer is $(3, 4)$.", "(3,4)"),
    ("The answer is (3, 4).", "(3,4)"), ("The answer is [2, 5).", "[2,5)"),
    ("Thus the answer is $x>3$.", "x>3"), ("The answer is Alice.", "Alice"), ("The answer is yes.", "Yes"),
    ("The answer is 3:30 PM.", "3:30 PM"), ("The answer is 1/2.", "0.5"), ("The answer is 2 1/2.", "2.5"),
    ("So it is 7. Final answer: 7. Let me check: 3+4=7, right.", "7"),
    ("The answer is 7. The check: the answer to 3+4 is 7.", "7"), ("The correct answer is (B), not (C).", "B"),
    ("Thus, among the options, the answer must be (A).", "A"), ("Therefore, the answer would be $15$.", "15"),
    ("Hence, our answer equals 15.", "15"), ("Final answer\n15", "15"),
    ("Final answer: 15 (approximately)", "15"), ("The required answer is 15.", "15"), ("Ans: 15", "15"),
    ("Ans. 15", "15"), ("Answer - 15", "15"), ("Therefore, \\(\\boxed{15}\\) students.", "15"),
    ("The answer is fifteen.", "15"),
    ("so P = 2/3 Therefore, the probability that she wins is 2/3. <|im_end|>", "2/3"),
    ("We find that $x \\lt 3$.", "x < 3"), ("We find that $y = 1$. We conclude that $x=4$.", "4"),
    ("The answer is 2/3. <|im_start|>user\nThe answer is 5.", "2/3"), ("It is \\boxed{7}.</s>\\boxed{8}", "7"),
    # what follows a formula is part of the answer, or goes on about it
    ("The answer is $2$ hours and $30$ minutes.", "2.5 hours"), ("The answer is $5$ m.", "500 cm"),
    ("The answer is $\\sqrt{2}$/2.", "\\frac{\\sqrt2}{2}"), ("The answer is $x$ = $5$.", "5"),
    ("The answer is $[1,2]$ ∪ $[3,4]$.", "[1,2]\\cup[3,4]"), ("The answer is $2$ + $3$ = $5$.", "5"),
    ("The answer is **$5$** apples.", "5"), ("The answer is $12\\pi$ square units.", "12\\pi"),
    ("The answer is $5$ and we are done.", "5"), ("(The answer is $5$.)", "5"),
    ("The answer is $5$, the least.", "5"),
    ("The answer is $(3, 4)$ in the plane.", "(3,4)"), ("The answer is $5$ (or about $5.1$).", "5"),
    ("The answer is 5 by 7.", "5 by 7"), ("The answer is 5 by adding.", "5"),
    ("The answer is 5! = 120.", "120"),
    *((f"The answer is $5${behind}", "5") for behind in (
        " $\\blacksquare$", ", a prime.", "; see above.", " - done.", " (B).", " (mod $7$).",
        " (see $x$).", " in total.",
        " rather than $6$.",
    )),
    # a box within a formula
    ("$x = -\\boxed{5}$", "-5"), ("$\\boxed{3}\\sqrt{2}$", "3\\sqrt2"), ("\\boxed{3}/\\boxed{4}", "3/4"),
    ("$\\frac{\\boxed{3}}{\\boxed{4}}$", "3/4"), ("The ratio is \\boxed{3}:\\boxed{4}.", "3:4"),
    ("$\\boxed{101}_2$", "101_2"), ("$\\boxed{2}^{10}$", "1024"),
    ("$\\boxed{2}$ hours and $\\boxed{30}$ minutes", "2.5 hours"),
    ("$a = \\boxed{3}, b = -\\boxed{5}$", "3,-5"), ("- \\boxed{5}", "5"), ("Case 3: \\boxed{4}", "4"),
    ("$2 + \\boxed{3} = 5$", "3"), ("$\\boxed{5} \\, m^2$", "5"),
    ("$\\boxed{60}\\frac{\\text{km}}{\\text{h}}$", "60"),
    ("$\\boxed{[1,2]}\\cup\\boxed{[3,4]}$", "[1,2]\\cup[3,4]"), ("\\[\\textbf{Answer: } -\\boxed{5}\\]", "-5"),
    ("_\\boxed{5}_", "5"), ("$\\boxed{5}$ million dollars", "5 million"),
    # thoughts, turns, another question
    ("<think>\\boxed{1}</think>\n**Answer:** 2", "2"), ("◁think▷ \\boxed{1} ◁/think▷ **Answer:** 2", "2"),
    ("<|channel|>analysis<|message|>\\boxed{1}<|end|><|start|>assistant<|channel|>final<|message|>**Answer:** 2", "2"),
    ("It is \\boxed{1}.<end_of_turn>\n<start_of_turn>user\n\\boxed{2}", "1"),
    ("\\boxed{1}\n\nProblem:\n2?\n\n\\boxed{2}", "1"),
    ("The answer is 1.\n\nHuman: 2+2?\n\nAssistant: The answer is 4.", "1"),
    ("Problem: 1+1?\n\nProblem: so \\boxed{2}", "2"),
    # thought again
    ("\\boxed{4}\n\nWait. 2+3 = 5, so the answer is 5.", "5"), ("\\boxed{4}. Oops, that should be 5.", "5"),
    ("One may say \\boxed{4}, but the real answer is 5.", "5"),
    ("<answer>\\boxed{3}</answer> <answer>4</answer>", "4"),
    ("\\boxed{4}. The wrong answer is 5.", "4"), ("\\boxed{14}. The sum of the answer is 5.", "14"),
    ("\\boxed{4}. If x were 2, the answer is 5.", "4"),
    ("I would say the answer is 4.", "4"), ("If we add them, the answer is 4.", "4"),
    ("<answer>x < 4</answer>", "x<4"),
]  # fmt: skip
NOT_RIGHT = [
    ("# Answer\n\n8", "7"), ("3*4=12\n#### 12", "13"), ("So the answer is B.", "C"),
    ("\\boxed{3}, no: \\boxed{7}.", "3"),
    ("The answer is not 12. The answer is 13.", "12"), ("The correct answer is (B), not (C).", "C"),
    ("The solutions are $x=2$ and $x=3$.", "2, 4"), ("The solutions are $x=2$ and $x=3$.", "2"),
    ("We find that $x = 5$. Then we add 3 to it.", "5"), ("Hence $x < 3$.", "x > 3"),
    ("Therefore, x = 5.", "-5"), ("Therefore, x is not 5.", "5"), ("Therefore, 5 is too small.", "5"),
    ("Thus the probability is $\\frac{1}{6}$ at most.", "1/6"), ("Thus there are 12 or 13.", "12"),
    ("Hence, the value is more than 12.", "12"), ("Therefore, we divide by 5.", "5"),
    ("We try 5. Then 6.", "5"),
    ("Answer choices:\n(A) 3\n(B) 4", "A"), ("<answer>41</answer> since 42 is too much", "42"),
    ("Answer\n12 is what we wanted to avoid, and it took us fourteen more words to say why that is so.", "12"),
    ("x = \\boxed{1} or x = \\boxed{2}", "1"), ("The answer is 12. <|im_start|>user\nThe answer is 13.", "13"),
    ("The answer should not be 7.", "7"), ("The answer would be 7 if x were 2.", "8"), ("My answer: 42", "24"),
    ("The answer is -7.", "7"), ("The answer is 50%.", "5"), ("The answer is 3:30 PM.", "3:30 AM"),
    ("The answer is:\n\n12", "1"), ("Ans: 15", "5"), ("The answer is fifteen.", "50"),
    *((f"The answer is $5${behind}.", "5") for behind in (
        " or 6", "; $6$", " & $6$", " / $6$", " plus $6$", " squared", " thousand dollars",
        " less than $12$", " million",
        " out of $6$", " to $6$", ":$6$", " in base $6$", " feet $6$ inches",
        " red balls and $4$ blue balls", " by $6$",
        " when x is even, and 6 otherwise", ", or $6$ if x is odd", " (million)",
    )),
    ("The answer is $5$ m.", "5 cm"), ("The solutions are $x=1$, 2 and 3.", "1"),
    ("**Answer:** 12 cm by 5 cm", "12"),
    ("-\\boxed{5}", "5"), ("\\boxed{5} million", "5"), ("\\boxed{3}:\\boxed{4}", "4"),
    ("$\\boxed{101}_2$", "101"),
    ("\\boxed{2} hours \\boxed{30} minutes", "30"), ("<think>\\boxed{1}</think> **Answer:** 2", "1"),
    ("Therefore, $x = 3$ or $x = 8$.", "8"), ("Hence $a = 3$, $b = 4$, and $c = 5$.", "5"),
    ("Therefore, the base is 3 and the height is 4.", "4"),
]  # fmt: skip
NO_ANSWER = [
    "", "So x = 5", "We get 5", "So there are 12 ways.", "The total is 45 dollars.", "She has 7 apples left.",
    "I do not know.", "The problem cannot be solved.", "We consider 5 cases.", "A: 12", "Therefore, it holds.",
    "Thus we are done.", "Therefore, we have three of them: $a$, $b$ and $c$.", "<answer></answer>", "Answer",
    "A common wrong answer is 4. Instead we get 5.", "The previous answer was 4, which is wrong.",
    "If the answer is $5$, we win.",
    "One might think the answer is 4.\nBut no.", "Suppose the answer is 4. Then 4 + 1 = 5.",
    "<think>\nSo \\boxed{4}? Let me",
    "<think>The answer is 4.</think>", "$10 - \\boxed{5}$", "$2^{\\boxed{3}}$", "$5 \\times \\boxed{6}$",
]  # fmt: skip


@pytest.fixture(scope="module")
def graders():
    with GraderPool(size=1) as pool:
        yield pool


@pytest.mark.parametrize(("text", "gold"), RIGHT)
def test_the_answer_is_found_and_right(graders, text, gold):
    (verdict,) = graders.grade_solutions([(text, gold)])
    assert verdict.outcome == "correct", (extract_answer(text), verdict)


@pytest.mark.parametrize(("text", "gold"), NOT_RIGHT)
def test_what_a_solution_does_not_answer_is_not_called_right(graders, text, gold):
    (verdict,) = graders.grade_solutions([(text, gold)])
    assert verdict.outcome != "correct", (extract_answer(text), verdict)


@pytest.mark.parametrize("text", NO_ANSWER)
def test_a_solution_that_states_no_answer_has_none(text):
    assert extract_answer(text) is None


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "answer is not ",
            "answer is $",
            "Therefore is ",
            "Thus 1 is ",
            ". ",
            "<answer>",
            "</s>",
            "Answer\n",
            "ans: ",
        ),
        *(
            "Therefore, a is $1$ b c. ",
            "the answer is $1$ and ",
            "answer\n\n",
            "Thus a = 3 and ",
            "\\boxed{1}",
        ),
        *(
            "$\\boxed{1}:\\boxed{2}$ ",
            "\\frac{\\boxed{1}}{",
            "((\\boxed{1}",
            "<think>",
            "</think>",
            "\n\nQuestion:",
        ),
    ],
)
def test_a_text_made_to_be_slow_is_read_in_no_time(piece):
    started = time.monotonic()
    extract_answer(piece * (200_000 // len(piece)))
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    "before", ["\\boxed{1} hours", "\\boxed{1} answer is", "answer is $1$", "<answer>", "$\\boxed{1}$"]
)
@pytest.mark.parametrize("blank", [" ", "\n", "\n "])
def test_a_run_of_blanks_is_read_in_no_time(before, blank):
    started = time.process_time()
    extract_answer(f"{before}{blank * 50_000}\\boxed{{5}} x")
    assert time.process_time() - started < 5


def test_of_a_choice_between_choices_none_is_right(graders):
    (verdict,) = graders.grade_solutions([("The answer is A) or B)", Gold("A", AnswerKind.CHOICE))])
    assert verdict.outcome != "correct"

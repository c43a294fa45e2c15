// Active time, on the item and on each step: a silence of more than a minute and a hidden tab are no work.
"use strict";

const IDLE_MS = 60_000;

const clock = {
  active: 0, // ms on the item
  steps: [], // ms by step index
  at: 0, // the step one stands at
  last: 0,
  hidden: document.hidden,
  start(active, steps) {
    this.active = active;
    this.steps = steps;
    this.last = performance.now();
  },
  // Called on every sign of life; the time since the one before counts unless it was a pause.
  tick() {
    const now = performance.now();
    const passed = now - this.last;
    this.last = now;
    if (passed > IDLE_MS || this.hidden) return;
    this.active += passed;
    this.steps[this.at] = (this.steps[this.at] ?? 0) + passed;
  },
  stand(index) {
    this.tick();
    this.at = index;
  },
  get stepTimes() {
    return this.steps.map((ms, index) => `${index}:${Math.round(ms)}`).filter((pair) => !pair.endsWith(":0")).join(",");
  },
};
for (const sign of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
  document.addEventListener(sign, () => clock.tick(), { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => {
  clock.tick(); // with the old state: what went before a tab was hidden counts, what it was hidden for does not
  clock.hidden = document.hidden;
});

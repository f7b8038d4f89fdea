// A bar and a number that run down together; amber from half of the time on.

import { countdownText } from "../format.ts";

interface TimeLeftProps {
  readonly startMs: number;
  readonly deadlineMs: number;
  readonly nowMs: number;
  /** What runs out, for screen readers. */
  readonly label: string;
}

export function TimeLeft({ startMs, deadlineMs, nowMs, label }: TimeLeftProps) {
  const wholeMs = Math.max(1, deadlineMs - startMs);
  // The page's clock moves once a second, so it may be a little behind the start.
  const leftMs = Math.min(wholeMs, Math.max(0, deadlineMs - nowMs));
  const share = leftMs / wholeMs;
  return (
    <span class={`time-left ${share < 0.5 ? "tone-wait" : ""}`}>
      <span class="mono">
        <span class="unseen">{`${label} `}</span>
        {countdownText(leftMs)}
      </span>
      <Bar share={share} />
    </span>
  );
}

/** A share of 0 to 1 as a bar; says nothing by itself. */
export function Bar({ share }: { share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <i style={{ transform: `scaleX(${share.toFixed(3)})` }} />
    </span>
  );
}

// The one panel of sign-in and set-up.

import type { ComponentChildren } from "preact";
import { Mark } from "./mark.tsx";

export function Gate(
  { title, children, foot }: { title: string; children: ComponentChildren; foot: ComponentChildren },
) {
  return (
    <main class="gate">
      <div class="gate-panel">
        <div class="wordmark">
          <Mark size={26} />Countersign
        </div>
        <div class="panel">
          <div class="panel-head">
            <h1>{title}</h1>
          </div>
          {children}
        </div>
        <p class="gate-foot">{foot}</p>
      </div>
    </main>
  );
}

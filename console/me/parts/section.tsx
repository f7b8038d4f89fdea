// A section of the account: what it is, why it is there, and its one action.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface SectionProps {
  readonly title: string;
  readonly why: string;
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, why, action, children }: SectionProps) {
  const id = useId();
  return (
    <section class="panel me-section" aria-labelledby={id}>
      <div class="me-section-head">
        <div>
          <h2 id={id}>{title}</h2>
          <p class="quiet">{why}</p>
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}

/** Why there is nothing, and the next step. */
export function Nothing({ title, next }: { title: string; next: string }) {
  return (
    <p class="me-nothing quiet">
      <strong>{title}.</strong> {next}
    </p>
  );
}

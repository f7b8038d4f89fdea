// A part of a page with a name of its own.

import type { ComponentChildren } from "preact";

interface PanelProps {
  readonly title: string;
  /** Only read out: what stands there speaks for itself. */
  readonly quiet?: boolean;
  readonly children: ComponentChildren;
}

export function Panel({ title, quiet, children }: PanelProps) {
  return (
    <section class="panel people-panel" aria-label={title}>
      {!quiet && <h2>{title}</h2>}
      {children}
    </section>
  );
}

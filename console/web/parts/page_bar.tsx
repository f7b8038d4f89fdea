// The head of each page: its name, how things stand, and what one does here first.

import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Symbol } from "./symbol.tsx";

interface PageBarProps {
  readonly title: string;
  /** State beside the heading, as `Chip`s or words. */
  readonly chips?: ComponentChildren;
  /** Where this page is reached from, such as the list of which this is one. */
  readonly back?: { readonly href: string; readonly label: string };
  /** Actions at the right, the most important one last. */
  readonly children?: ComponentChildren;
}

export function PageBar({ title, chips, back, children }: PageBarProps) {
  useLayoutEffect(() => {
    document.title = `${title} · Countersign`;
  }, [title]);
  return (
    <header class="page-bar">
      {back !== undefined && (
        <a class="back" href={back.href}>
          <Symbol name="arrow-left" />
          <span class="unseen">{back.label}</span>
        </a>
      )}
      <h1 tabIndex={-1}>{title}</h1>
      {chips}
      {children !== undefined && <div class="end">{children}</div>}
    </header>
  );
}

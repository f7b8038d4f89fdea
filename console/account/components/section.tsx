// The parts of the account page: sections, the heading, and the props of a section.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Account, AccountModels } from "../account_models.ts";
import type { AccountFactors, AccountInfo } from "../../api/account/account_types.ts";

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

/** An empty section: the reason and the next step. */
export function Nothing({ title, next }: { title: string; next: string }) {
  return (
    <p class="me-nothing quiet">
      <strong>{title}.</strong> {next}
    </p>
  );
}

export function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return <h1 ref={heading} tabIndex={-1}>{children}</h1>;
}

export interface PartProps {
  readonly models: AccountModels;
  readonly account: Account;
  readonly me: AccountInfo;
}

export interface FactorProps extends PartProps {
  readonly factors: AccountFactors;
}

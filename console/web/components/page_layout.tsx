// The layout of pages: heading, panels, tabs, the link to the audit log, and the panel of sign-in and set-up.

import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Icon, Logo } from "./icons.tsx";
import type { Models } from "../app/app_context.ts";
import { countText } from "../app/format.ts";
import { PAGE_ROUTES } from "../app/routes.ts";
import { t } from "../i18n/translate.ts";

export interface PageBarProps {
  readonly title: string;
  /** The state beside the heading. */
  readonly chips?: ComponentChildren;
  /** The link to the parent page. */
  readonly back?: { readonly href: string; readonly label: string } | undefined;
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
          <Icon name="arrow-left" />
          <span class="unseen">{back.label}</span>
        </a>
      )}
      <h1 tabIndex={-1}>{title}</h1>
      {chips}
      {children !== undefined && <div class="end">{children}</div>}
    </header>
  );
}

interface PanelProps {
  readonly title: string;
  /** The title is for screen readers only. */
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

export interface Tab {
  /** Without `#`; "" for the first tab. */
  readonly hash: string;
  readonly label: string;
  readonly count?: number;
}

/** The tab of the address, or the first one. */
export function currentTab({ router }: Pick<Models, "router">, tabs: readonly Tab[]): string {
  const hash = router.hash.value;
  return tabs.some((tab) => tab.hash === hash) ? hash : tabs[0]?.hash ?? "";
}

export function Tabs({ models, tabs, label }: { models: Models; tabs: readonly Tab[]; label: string }) {
  const { router } = models;
  const current = currentTab(models, tabs);
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ hash, label, count }) => (
          <li key={hash}>
            <a href={`${router.path.value}#${hash}`} aria-current={hash === current ? "true" : undefined}>
              {label}
              {count !== undefined && <span class="count">{countText(count)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const SIGN_IN_LOG_VIEWS = ["live", "history"] as const;

/** The two views of the sign-in log, beside its heading. */
export function SignInLogTabs({ current }: { current: typeof SIGN_IN_LOG_VIEWS[number] }) {
  return (
    <nav class="page-tabs" aria-label={t("shell.sign_in_log_views")}>
      {SIGN_IN_LOG_VIEWS.map((view) => (
        <a key={view} href={PAGE_ROUTES[view].pattern} aria-current={view === current ? "page" : undefined}>
          {t(`shell.sign_in_log_${view}`)}
        </a>
      ))}
    </nav>
  );
}

/** The audit records of `user:ada`. */
export function auditHref(object: string): string {
  return `/audit?object=${encodeURIComponent(object)}`;
}

/** A button beside the heading. `object` as in the audit log: `user:ada`. */
export function AuditLink({ object }: { object: string }) {
  const name = object.slice(object.indexOf(":") + 1);
  return (
    <a class="button" href={auditHref(object)} aria-label={t("common.audit_of", { name })}>
      <Icon name="scroll-text" size={14} />
      {t("shell.audit")}
    </a>
  );
}

export function AuthLayout(
  { title, children, foot }: { title: string; children: ComponentChildren; foot: ComponentChildren },
) {
  return (
    <main class="auth">
      <div class="auth-panel">
        <div class="wordmark">
          <Logo size={26} />Countersign
        </div>
        <div class="panel">
          <div class="panel-head">
            <h1 tabIndex={-1}>{title}</h1>
          </div>
          {children}
        </div>
        <p class="auth-foot">{foot}</p>
      </div>
    </main>
  );
}

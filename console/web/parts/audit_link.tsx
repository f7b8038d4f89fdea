// From a thing's page to what was done to it.

import { t } from "../i18n/translate.ts";
import { Symbol } from "./symbol.tsx";

/** What was done to `user:ada`. */
export function auditHref(object: string): string {
  return `/audit?object=${encodeURIComponent(object)}`;
}

/** A button of a page's head. `object` as the audit writes it: `user:ada`. */
export function AuditLink({ object }: { object: string }) {
  const name = object.slice(object.indexOf(":") + 1);
  return (
    <a class="button" href={auditHref(object)} aria-label={t("frame.audit_of", { name })}>
      <Symbol name="scroll-text" size={14} />
      {t("frame.audit")}
    </a>
  );
}

/** The same in a row of a table: the sign alone. */
export function AuditSign({ object }: { object: string }) {
  const label = t("frame.audit_of", { name: object.slice(object.indexOf(":") + 1) });
  return (
    <a class="cell-link" href={auditHref(object)} title={label}>
      <Symbol name="scroll-text" size={14} />
      <span class="unseen">{label}</span>
    </a>
  );
}

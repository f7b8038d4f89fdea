// The earlier form of auditEntry(). New code calls auditEntry() of platform/audit.ts.

import { type AuditEntry, auditEntry, type AuditMutation } from "../../../platform/audit.ts";

/** @param entry.action must have a row in platform/audit_actions.ts. */
export function auditMutation(
  _deps: unknown,
  entry: Omit<AuditEntry, "action"> & { readonly action: string },
): AuditMutation {
  return auditEntry(entry as AuditEntry);
}

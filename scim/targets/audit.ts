// Audit records of the identity interface: who changed what, through which backends; names of attributes, never their values.

import { type AuditEntry, auditEntry } from "../../platform/audit.ts";
import type { AuditAction } from "../../platform/audit_actions.ts";
import type { Mutation } from "../../store.ts";
import type { Actor, Content, ResourceKind } from "../ports.ts";
import { equalJson, sameContent } from "./same_content.ts";

const MOST_ATTRIBUTES = 50;

/** An event in a target's directory. */
export function targetEntry(
  target: string,
  { actor, ...what }: Omit<AuditEntry, "actor" | "source" | "target"> & { readonly actor: Actor },
): Mutation {
  return auditEntry({ ...what, actor: actor.name, source: actor.source, target });
}

const DEEDS = {
  create: "created",
  replace: "replaced",
  remove: "deleted",
  members: "members_changed",
} as const;

/** `user.created`, `group.members_changed`… */
export function actionOf(kind: ResourceKind, operation: keyof typeof DEEDS): AuditAction {
  // Users have no members.
  return operation === "members" ? "group.members_changed" : `${kind}.${DEEDS[operation]}`;
}

/** Names of what differs between two contents. */
export function changedAttributes(before: Content | null, after: Content | null): string[] {
  if (before !== null && after !== null && sameContent(before, after)) return [];
  const changed: string[] = [];
  const names = new Set([...Object.keys(before?.attributes ?? {}), ...Object.keys(after?.attributes ?? {})]);
  for (const name of names) {
    if (!equalJson(before?.attributes[name], after?.attributes[name])) changed.push(name);
  }
  if (activeOf(before) !== activeOf(after)) changed.push("active");
  if (!sameMembers(before, after)) changed.push("members");
  return changed.slice(0, MOST_ATTRIBUTES);
}

function activeOf(content: Content | null): boolean | null {
  return content?.kind === "user" ? content.active : null;
}

function sameMembers(before: Content | null, after: Content | null): boolean {
  const members = (content: Content | null) => content?.kind === "group" ? content.members : [];
  const kept = members(before);
  const now = members(after);
  return kept.length === now.length && kept.every((name, at) => name === now[at]);
}

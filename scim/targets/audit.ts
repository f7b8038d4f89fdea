// Audit records of the identity interface: who changed what, through which backends; names of attributes, never their values.

import type { Mutation } from "../../store.ts";
import type { Actor, Content, ResourceKind } from "../ports.ts";
import { equalJson, sameContent } from "./same_content.ts";

const KEPT_MS = 90 * 24 * 3600_000;
const MOST_ATTRIBUTES = 50;

export interface AuditDeps {
  readonly target: string;
  readonly nowMs: () => number;
  readonly orderedId: () => string;
}

/** The record of a deed, for the commit of the deed. */
export function auditRecord(
  { target, nowMs, orderedId }: AuditDeps,
  { actor, action, ...what }: {
    readonly actor: Actor;
    readonly action: string;
    readonly [name: string]: unknown;
  },
): Mutation {
  return {
    type: "set",
    key: ["audit", orderedId()],
    value: { atMs: nowMs(), actor: actor.name, source: actor.source, action, target, ...what },
    expireInMs: KEPT_MS,
  };
}

const DEEDS = {
  create: "created",
  replace: "replaced",
  remove: "deleted",
  members: "members_changed",
} as const;

/** `user.created`, `group.members_changed`… */
export function actionOf(kind: ResourceKind, operation: keyof typeof DEEDS): string {
  return `${kind}.${DEEDS[operation]}`;
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

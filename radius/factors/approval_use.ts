// One approval of an external service lets one login in: the service may give two logins the same request.

import type { Store } from "../../platform/store.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { SecondFactorService } from "../ports.ts";
import type { WriteBatch } from "../../platform/write_batch.ts";

/** Another node, or another packet, advanced the conversation first. */
export class Raced extends Error {}

/** Another login was accepted with the same approval. */
export class ApprovalUsed extends Error {}

/** Longer than any conversation lives. */
const USE_STORED_MS = 24 * 3600_000;

/** Adds the use of the approval to the commit of an Access-Accept. Returns the key of the use, or `null` if there is no such approval. */
export function useApproval(
  { secondFactor }: { secondFactor: SecondFactorService },
  { requestId, factor }: Conversation,
  batch: WriteBatch,
): Deno.KvKey | null {
  if (secondFactor.embedded || requestId === null || factor !== "device") return null;
  const key = ["request_used", requestId];
  batch.checks.push({ key, versionstamp: null });
  batch.mutations.push({ type: "set", key, value: true, expireInMs: USE_STORED_MS });
  return key;
}

/** @throws ApprovalUsed if the commit failed because another login had used the approval, otherwise `fault`. */
export async function explainRace(
  { store }: { store: Store },
  fault: unknown,
  key: Deno.KvKey,
): Promise<never> {
  if (fault instanceof Raced && (await store.get(key)).versionstamp !== null) {
    throw new ApprovalUsed(`Cannot accept: the approval "${String(key[1])}" let another login in`);
  }
  throw fault;
}

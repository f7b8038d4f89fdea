// Bypass codes of a test: issued without the help desk.

import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";

const MINUTE_MS = 60_000;
/** Ten digits that are no code. */
export const WRONG_BYPASS = "00000-00000";

interface Terms {
  readonly uses?: number | null;
  readonly minutes?: number;
}

export async function giveBypass(
  { radius, store, clock }: InProcess,
  user: string,
  { uses = 1, minutes = 60 }: Terms = {},
): Promise<string> {
  const expiresMs = clock.nowMs() + minutes * MINUTE_MS;
  const made = await radius.bypassCodes.create(user, { uses, expiresMs, by: "hanna" });
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (!done.ok) throw new Error("The code was not stored");
  made.adopt(done.versionstamp);
  return made.code;
}

/** Uses that are left. */
export const bypassUsesLeft = ({ radius }: InProcess, user = "anna") =>
  radius.bypassCodes.status(user)?.usesLeft;

/** A gateway with the user anna, who has a bypass code. */
export async function withBypass(
  terms: Terms = {},
  options: InProcessOptions = {},
): Promise<{ world: InProcess; code: string }> {
  const world = await startInProcess(options);
  return { world, code: await giveBypass(world, "anna", terms) };
}

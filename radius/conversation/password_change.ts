// The change of a password that is over, during its login: the old and the new password, sealed in the conversation from the first to the last
// prompt. Nothing else stores them. The change is made after the second factor.

import type { Log } from "../../platform/log.ts";
import type { Vault } from "../../platform/vault.ts";
import type { LoginAttempt } from "../server/request.ts";
import type { Conversation } from "./conversation.ts";
import type { Passwords } from "../ports.ts";

interface ChangedPasswords {
  /** The password that is over, as the user typed it. */
  readonly old: string;
  /** `null`: not typed yet, or refused. */
  readonly next: string | null;
  /** Whether the second factor of this login was right. */
  readonly hasFactor: boolean;
}

type Owner = Pick<Conversation, "client" | "user">;
type Holder = Owner & Pick<Conversation, "passwordChange">;

function recordKey({ client, user }: Owner): Deno.KvKey {
  return ["password_change", client, user];
}

/** What the conversation has of the change; `null`: no password is to be changed, or the record was altered. */
export function openPasswordChange(vault: Pick<Vault, "open">, holder: Holder): ChangedPasswords | null {
  if (holder.passwordChange === "") return null;
  const plain = vault.open(recordKey(holder), Uint8Array.fromBase64(holder.passwordChange));
  return plain === null ? null : JSON.parse(new TextDecoder().decode(plain)) as ChangedPasswords;
}

function seal(vault: Pick<Vault, "seal">, conversation: Conversation, passwords: ChangedPasswords): void {
  const plain = new TextEncoder().encode(JSON.stringify(passwords));
  conversation.passwordChange = vault.seal(recordKey(conversation), plain).toBase64();
}

/** The text of a typed password. Octets that are no UTF-8 are no password that a directory has. */
function textOf(password: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(password);
}

/** Whether the typed password is the new one again. */
export function repeatsNewPassword(
  vault: Pick<Vault, "open">,
  conversation: Holder,
  { password }: Pick<LoginAttempt, "password">,
): boolean {
  const next = openPasswordChange(vault, conversation)?.next ?? null;
  return next !== null && next === textOf(password);
}

/** Begins the change with the old password. */
export function keepOldPassword(
  { vault }: { vault: Pick<Vault, "seal"> },
  conversation: Conversation,
  { password }: Pick<LoginAttempt, "password">,
): void {
  seal(vault, conversation, { old: textOf(password), next: null, hasFactor: false });
}

/** Changes what is kept. `next: null` forgets a new password that is not used. */
export function notePasswordChange(
  { vault }: { vault: Pick<Vault, "seal" | "open"> },
  conversation: Conversation,
  change: { readonly typed?: Uint8Array; readonly next?: null; readonly hasFactor?: boolean },
): void {
  const kept = openPasswordChange(vault, conversation);
  if (kept === null) throw new Error("Cannot change a password: what was typed before cannot be read");
  const { typed, ...more } = change;
  seal(vault, conversation, { ...kept, ...more, ...(typed === undefined ? {} : { next: textOf(typed) }) });
}

/** Changes the password in the directory. A fault is a result, because the directory may have changed it. */
export async function changeInDirectory(
  { vault, passwords, log }: { vault: Vault; passwords?: Pick<Passwords, "changes"> | undefined; log: Log },
  { conversation, attempt }: { conversation: Conversation; attempt: LoginAttempt },
): Promise<void> {
  const kept = openPasswordChange(vault, conversation);
  const { firstFactorBackend: backend } = attempt.client.settings;
  const { shownUser: user, orderedId } = conversation;
  attempt.passwordChange = "failed";
  if (kept === null || kept.next === null || passwords?.changes === undefined) return;
  try {
    const result = await passwords.changes.change(backend, user, { old: kept.old, next: kept.next });
    attempt.passwordChange = result;
    log.info("change of a password in a login", { conversation: orderedId, user, backend, result });
  } catch (fault) {
    log.warn("a password could not be changed", {
      conversation: orderedId,
      user,
      backend,
      fault: String(fault),
    });
  }
}

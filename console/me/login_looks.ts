// How a login of one's own looks and what is said of it.

import { t } from "../web/i18n/translate.ts";
import { readable, type StateLook, type StateWords } from "../web/words.ts";
import type { MessageKey } from "../web/i18n/catalogue.ts";
import type { MeLogin, MeOpenLogin } from "../api/account/account_types.ts";

/** A login that is over, or one that waits. */
export type OwnLogin = MeLogin | MeOpenLogin;

const LOOKS: Readonly<Record<string, StateLook>> = {
  open: { tone: "wait", shape: "clock" },
  accepted: { tone: "ok", shape: "check" },
  rejected: { tone: "bad", shape: "cross" },
  expired: { tone: "idle", shape: "clock" },
  cancelled: { tone: "idle", shape: "ring" },
  superseded: { tone: "idle", shape: "ring" },
};

/** Whether it still waits. */
export function isOpen(login: OwnLogin): login is MeOpenLogin {
  return !("endedMs" in login);
}

/** Colour, shape and word of how it ended, or that it waits. */
export function loginWords(login: OwnLogin): StateWords {
  const name = isOpen(login) ? "open" : login.outcome;
  const look = LOOKS[name] ?? { tone: "idle", shape: "ring" };
  const key = `me.outcome_${name}`;
  const word = t(key as MessageKey);
  // The server may be newer than this page.
  return { ...look, label: word === key ? readable(name) : word };
}

/** Why it did not get in, or `null` when there is no sentence for it. */
export function reasonText(login: OwnLogin): string | null {
  if (isOpen(login) || login.reason === null) return null;
  const key = `me.reason_${login.reason}`;
  const word = t(key as MessageKey);
  return word === key ? null : word;
}

// Reads the User-Password of a login: the password, and what append mode appends to it.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import { equalDigests, type Vault } from "../../platform/vault.ts";
import { appParameters } from "../factors/app_codes.ts";
import type { BypassCodeStore } from "../factors/bypass_codes.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { SentPasscodes } from "../factors/sent_passcodes.ts";
import {
  type AppendSettings,
  BYPASS_CODE_DIGITS,
  maybeStaticChallenge,
  readAppended,
  type TypedPassword,
} from "../protocol/login_input.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";
import { passcodeDigest } from "./conversation.ts";
import { findTypedTotp } from "./typed_totp.ts";

export interface TypedPasswordDeps {
  readonly pairings: Pairings;
  readonly hardwareTokens: HardwareTokens;
  readonly bypassCodes: BypassCodeStore;
  readonly sentPasscodes: SentPasscodes;
  readonly settings: FactorSettings;
  readonly clock: Clock;
  readonly vault: Vault;
}

/** @param typed what the user typed, in UTF-8 @param of.user canonical */
export function readTypedPassword(
  deps: TypedPasswordDeps,
  typed: Uint8Array,
  { user, client, settings }: { user: string; client: string; settings: AppendSettings },
): TypedPassword {
  if (!settings.appendMode && !maybeStaticChallenge(typed)) return { password: typed, appended: null };
  const hasBypassCode = deps.bypassCodes.status(user) !== null;
  const { smsDigits, voiceDigits } = deps.settings.passcode;
  const sent = deps.sentPasscodes.of({ user, client });
  const sentDigits = sent === null ? 0 : sent.factor === "sms" ? smsDigits : voiceDigits;
  const isSeparated = !settings.appendMode || settings.codePosition === "separated";
  return readAppended(typed, settings, {
    hasBypassCode,
    sentDigits,
    digits: isSeparated ? NO_DIGITS : codeDigits(deps, user, { sentDigits, hasBypassCode }),
    matches: (code) => isCodeNow(deps, { user, client, code }),
  });
}

const NO_DIGITS: readonly number[] = [];

/** How many digits the codes of a user can have: those of a passcode that was sent first, then the longest first. */
function codeDigits(
  { pairings, hardwareTokens }: TypedPasswordDeps,
  user: string,
  { sentDigits, hasBypassCode }: { sentDigits: number; hasBypassCode: boolean },
): number[] {
  const own = [
    ...pairings.usable(user).map((one) =>
      one.kind === "totp" ? appParameters(one).digits : one.kind === "device" ? one.totpLength : 0
    ),
    ...hardwareTokens.usable(user).map(({ record }) => record.digits),
    hasBypassCode ? BYPASS_CODE_DIGITS : 0,
  ].sort((a, b) => b - a);
  return [...new Set([sentDigits, ...own])].filter((digits) => digits > 0);
}

function isCodeNow(
  deps: TypedPasswordDeps,
  { user, client, code }: { user: string; client: string; code: string },
): boolean {
  const sent = deps.sentPasscodes.of({ user, client });
  if (sent !== null && equalDigests(passcodeDigest(deps.vault, sent.secretId, code), sent.digest)) {
    return true;
  }
  if (code.length === BYPASS_CODE_DIGITS) return deps.bypassCodes.matches(user, code);
  const own = deps.pairings.usable(user);
  return findTypedTotp(deps, { user, own, code, nowMs: deps.clock.nowMs() }) !== null;
}

// The inputs of the flow table's conditions, for one packet on one conversation. Each input is computed when a condition reads it.

import {
  type AcceptFault,
  type Factor,
  FACTOR_ORDER,
  type Facts,
  type PhoneChoiceFacts,
} from "../flow/context.ts";
import { type Appended, readBypassCode, readCode, refusalOfUser } from "../protocol/login_input.ts";
import { reducePhoneNumber } from "../../platform/phone_number.ts";
import type { LoginAttempt, TypedTotp } from "../server/request.ts";
import { type Conversation, passcodeDigest } from "./conversation.ts";
import { type Limits, whyNotSent } from "../factors/limits.ts";
import type { BypassCodeStore } from "../factors/bypass_codes.ts";
import { readRecoveryCode, type RecoveryCodeStore } from "../factors/recovery_codes.ts";
import {
  appendedChoice,
  type EnrolmentMarks,
  everHadFactor,
  type FactorMarks,
  hasOwnFactor,
  hasUsableRecoveryCodes,
  mayAddFactor,
  phoneFacts,
  readyFactors,
} from "../factors/own_factors.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { KeptPasscode, SentPasscodes } from "../factors/sent_passcodes.ts";
import type { Pairing, TotpPairingRow } from "../factors/pairing.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";
import type { DirectoryUser, LoginDirectory, Passwords } from "../ports.ts";
import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { mayRelay } from "../../platform/upgrade/store_format.ts";
import { equalDigests, type Vault } from "../../platform/vault.ts";
import type { PolicyRules } from "../policy/policy.ts";
import {
  decideLoginPolicy,
  type LoginPolicies,
  type LoginPolicy,
  type PolicyPacket,
  policyPacketOf,
} from "./login_policy.ts";
import { openPasswordChange, repeatsNewPassword } from "./sealed_fields.ts";
import {
  acceptAppCode,
  appParameters,
  type CodeFault,
  explainRefusedCode,
  openApp,
} from "../tokens/token_codes.ts";

export interface FlowContextDeps {
  readonly settings: FactorSettings;
  readonly enabled: () => ReadonlySet<Factor>;
  readonly directory: LoginDirectory;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly hardwareTokens: HardwareTokens;
  readonly enrolment: Pick<EnrolmentMarks, "isOverdue">;
  readonly bypassCodes: BypassCodeStore;
  readonly sentPasscodes: Pick<SentPasscodes, "of">;
  readonly factorMarks: FactorMarks;
  /** Whether a link to pair a phone, made by another person than the user, is open. */
  readonly hasOpenInvitation: (user: string) => boolean;
  readonly clock: Clock;
  readonly store: Pick<Store, "format">;
  readonly vault: Vault;
  /** Absent: no password can be changed. */
  readonly passwords?: Pick<Passwords, "changes"> | undefined;
  /** The stored policies. Without one, the settings apply. */
  readonly policies: LoginPolicies;
  /** Why no Access-Accept of a login can be sent (`acceptFaultOf()` of the responder). Absent: there is no packet to answer. */
  readonly acceptFault?: (conversation: Conversation, attempt: LoginAttempt) => AcceptFault | null;
}

/** The questions of a first-factor server in one login. A new PIN needs three or four. */
const MAX_CHALLENGES = 8;

export function gatherFacts(deps: FlowContextDeps, conversation: Conversation, attempt: LoginAttempt): Facts {
  return new LazyFacts(deps, conversation, attempt);
}

class LazyFacts implements Facts {
  readonly #deps: FlowContextDeps;
  readonly #conversation: Conversation;
  readonly #attempt: LoginAttempt;
  #usable: readonly Pairing[] | null = null;
  #ready: { readonly rules: PolicyRules; readonly factors: Facts["ready"] } | null = null;
  #user: DirectoryUser | null = null;

  constructor(deps: FlowContextDeps, conversation: Conversation, attempt: LoginAttempt) {
    this.#deps = deps;
    this.#conversation = conversation;
    this.#attempt = attempt;
  }

  /** The pairings that can be used for a login. */
  get #pairings(): readonly Pairing[] {
    return this.#usable ??= this.#deps.pairings.usable(this.#conversation.user);
  }

  get #policy(): LoginPolicy {
    return this.#attempt.policy ??= decideLoginPolicy(this.#deps, this.#conversation);
  }
  get #rules(): PolicyRules {
    return this.#policy.rules;
  }

  get answer(): string {
    return this.#attempt.answer ?? "";
  }
  get passwordEmpty(): boolean {
    return this.#attempt.password.length === 0 && this.#attempt.appended === null;
  }
  get appended(): Appended | null {
    return this.#attempt.appended;
  }
  get appendedChoice(): Facts["appendedChoice"] {
    const { pairings } = this.#deps;
    return appendedChoice(this.appended, {
      pairings: pairings.of(this.#conversation.user),
      usable: this.#pairings,
    });
  }
  /** A passcode counts only while its factor is allowed and its number belongs to the user. */
  get #keptPasscode(): KeptPasscode | null {
    const kept = this.#deps.sentPasscodes.of(this.#conversation);
    if (kept === null || !this.enabled.has(kept.factor)) return null;
    const isOwn = this.#pairings.some(({ kind, id }) => kind === kept.factor && id === kept.pairing);
    return isOwn ? kept : null;
  }
  get passcodeKept(): boolean {
    return this.appended?.kind === "code" && this.#keptPasscode !== null;
  }
  get keptPasscodeMatches(): boolean {
    const kept = this.appended?.kind === "code" ? this.#keptPasscode : null;
    return kept !== null &&
      equalDigests(passcodeDigest(this.#deps.vault, kept.secretId, this.#code), kept.digest);
  }
  get user(): DirectoryUser {
    return this.#user ??= this.#deps.directory.lookUp(this.#conversation.user);
  }
  get userRefused(): boolean {
    const { user } = this.#conversation;
    const refusedFor = refusalOfUser(this.#attempt.client.settings, {
      status: this.user.status,
      isLocked: () => this.#deps.limits.isLocked(user),
    });
    this.#attempt.refusedFor = refusedFor;
    return refusedFor !== null;
  }
  get firstFactor(): Facts["firstFactor"] {
    if (this.#attempt.firstFactor !== null) return this.#attempt.firstFactor;
    if (this.#attempt.client.settings.firstFactor === "none") return "not_configured";
    return this.#conversation.firstFactorRight ? "right" : "asked";
  }
  /** Until the first factor is right, each packet of the login is a question or an answer of the server. */
  get challengesLeft(): boolean {
    return this.#conversation.round < MAX_CHALLENGES && mayRelay(this.#deps.store);
  }
  get enabled(): ReadonlySet<Factor> {
    return this.#rules.enabled;
  }
  get menu(): ReadonlySet<Factor> {
    return this.#rules.menu;
  }
  get policy(): string | null {
    return this.#policy.name;
  }
  get policyDenies(): boolean {
    return this.#policy.denies;
  }
  get policyDeniesNow(): boolean {
    const now = decideLoginPolicy(this.#deps, this.#conversation);
    const { at } = this.#conversation;
    const isPhoneAllowed = at === "asking_otp" ? now.rules.deviceCodes : now.rules.enabled.has("device");
    const denies = now.denies || (this.decision === "granted" && !isPhoneAllowed);
    // The login names the policy that denied it.
    if (denies) this.#attempt.policy = now;
    return denies;
  }
  /** A password is only changed after a second factor. */
  get policyBypasses(): boolean {
    return !this.passwordDue && this.#policy.bypasses(this.firstFactor, this.#packet);
  }
  get deviceRemembered(): boolean {
    return this.#policy.replacesFactor(this.firstFactor, this.#packet);
  }
  get #packet(): PolicyPacket {
    return policyPacketOf(this.#conversation, this.#attempt);
  }
  get required(): Factor | null {
    return this.#rules.required;
  }
  get requiredUsable(): boolean {
    const { required } = this.#rules;
    if (required === null || !this.enabled.has(required)) return false;
    if (this.ready[required]) return true;
    if (required === "device") return this.mayEnrol;
    if (required === "totp") return false;
    return this.#numbers(required).length > 0 || this.#isAnyNumberAllowed;
  }
  get stepForbidden(): boolean {
    return this.#policy.forbids(this.#conversation.at);
  }
  get enrolmentOverdue(): boolean {
    const { enrolment, clock } = this.#deps;
    return enrolment.isOverdue(this.#conversation.user, clock.nowMs()) && !this.#hasOwnFactor &&
      !this.hasBypassCode;
  }
  get deviceCodes(): boolean {
    return this.#rules.deviceCodes;
  }
  get ready(): Facts["ready"] {
    const rules = this.#rules;
    if (this.#ready?.rules !== rules) {
      const factors = readyFactors(this.#pairings, { ...rules, hasToken: this.#hasToken });
      this.#ready = { rules, factors };
    }
    return this.#ready.factors;
  }
  get pick(): Factor | null {
    if (this.#pairings.length === 0 && !this.#hasToken) return null;
    const { ready } = this;
    const preferred = this.#deps.pairings.preferred(this.#conversation.user);
    if (preferred !== null && ready[preferred]) return preferred;
    for (const factor of FACTOR_ORDER) if (ready[factor]) return factor;
    return null;
  }
  get pushesLeft(): boolean {
    return this.#deps.limits.pushesLeft(this.#conversation.user);
  }
  get phones(): PhoneChoiceFacts {
    return phoneFacts(this.enabled.has("device") ? this.#pairings : [], this.#conversation, this.answer);
  }
  get #enrolAtLogin(): FactorSettings["enrolAtLogin"] {
    return this.#policy.enrolment ?? this.#deps.settings.enrolAtLogin;
  }
  get mayEnrol(): boolean {
    return this.mayStoreNumber && (this.#enrolAtLogin === "always" || !this.#hasOwnFactor);
  }
  get mayStoreNumber(): boolean {
    const { user, firstFactorRight: isPasswordRight } = this.#conversation;
    // Who has a password that is over may not be its user. A new factor would let such a person set a new one.
    if (this.passwordDue) return false;
    const rule = this.#enrolAtLogin;
    return mayAddFactor(this.#deps, { user, record: this.user }, { rule, isPasswordRight });
  }
  get smsNumbers(): readonly string[] {
    return this.#numbers("sms");
  }
  get voiceNumbers(): readonly string[] {
    return this.#numbers("voice");
  }
  #numbers(kind: "sms" | "voice"): readonly string[] {
    const verified = this.#pairings.flatMap((pairing) => pairing.kind === kind ? [pairing.number] : []);
    return [...new Set([...verified, ...this.user.phoneNumbers])].slice(0, 9);
  }
  get number(): string | null {
    const { numbers } = this.#conversation;
    if (/^[1-9]$/.test(this.answer)) return numbers[Number(this.answer) - 1] ?? null;
    return reducePhoneNumber(this.answer);
  }
  get numberUsable(): boolean {
    const { number } = this;
    if (number === null) return false;
    const { user, client } = this.#conversation;
    const allowed = this.#isAllowed(number);
    const why = whyNotSent(this.#deps, { user, client, number, allowed });
    this.#attempt.notSent = why;
    return why === null;
  }
  #isAllowed(number: string): boolean {
    const kind = this.#conversation.at === "GET_VOICE_PHONE_NUMBER" ? "voice" : "sms";
    return this.#isAllowedFor(kind, number);
  }
  #isAllowedFor(kind: "sms" | "voice", number: string): boolean {
    return this.#numbers(kind).includes(number) || this.#isAnyNumberAllowed;
  }
  get #isAnyNumberAllowed(): boolean {
    const { user } = this.#conversation;
    return this.#deps.settings.phoneNumbers === "any" && !everHadFactor(this.#deps, user, this.user);
  }
  /** A number of the directory counts as a factor if a passcode may be sent to it, so that an attacker with only the password cannot add another one. */
  get #hasOwnFactor(): boolean {
    const { phoneNumbers } = this.user;
    return hasOwnFactor(this.#deps, { user: this.#conversation.user, phoneNumbers });
  }
  get relayed(): boolean {
    return this.#conversation.relay !== null;
  }
  get held(): Facts["held"] {
    if (this.relayed || this.#attempt.appended?.kind === "push") return "to_the_end";
    const { device } = this.#attempt.client.settings;
    // Only the first request of a login is held. A user who chose from the menu can answer a prompt.
    if (this.#attempt.answer !== null || device === "challenge") return "no";
    return device === "hold" ? "to_the_end" : "then_challenge";
  }
  get requestOpened(): boolean {
    return this.#conversation.requestId !== null;
  }
  /** An approval does not count if the phone was revoked since, waits for a confirmation, or if the settings offer no phones any more. */
  get decision(): Facts["decision"] {
    const { pairingId } = this.#conversation;
    if (this.#attempt.decision !== "granted") return this.#attempt.decision;
    if (this.#deps.enabled().has("device") && this.#pairings.some(({ id }) => id === pairingId)) {
      return "granted";
    }
    Object.assign(this.#attempt, { decision: "denied", denial: { cause: "revoked" }, decidedMs: undefined });
    return "denied";
  }
  get pairing(): Facts["pairing"] {
    return this.#attempt.pairing;
  }
  get messageSent(): boolean {
    return this.#attempt.messageSent;
  }
  get passcodeOutstanding(): boolean {
    const { passcode } = this.#conversation;
    return passcode !== null && passcode.expiresMs > this.#deps.clock.nowMs();
  }
  get guessChecked(): boolean {
    if (this.#attempt.firstFactor === "wrong") return this.#attempt.passwordChecked;
    return this.#code !== "" &&
      (this.ready.totp || this.hasRecoveryCodes || this.hasBypassCode || this.passcodeKept);
  }
  get userExists(): boolean {
    return this.#pairings.length > 0 || this.#hasToken || this.user.status !== "unknown";
  }
  get passcodeMatches(): boolean {
    const { passcode, secretId } = this.#conversation;
    if (passcode === null || !this.passcodeOutstanding) return false;
    // The number may have been removed since, because its phone was stolen.
    if (!this.#isAllowedFor(passcode.factor, passcode.number)) return false;
    return equalDigests(passcodeDigest(this.#deps.vault, secretId, this.#code), passcode.digest);
  }
  get answerIsCode(): boolean {
    return /^[0-9]{6,8}$/.test(this.#code);
  }
  get hasRecoveryCodes(): boolean {
    return this.#rules.recoveryCodes && hasUsableRecoveryCodes(this.#deps, this.#conversation.user);
  }
  get answerIsRecoveryCode(): boolean {
    return readRecoveryCode(this.answer) !== null;
  }
  get recoveryCodeMatches(): boolean {
    const { recoveryCode } = this.#attempt;
    if (recoveryCode !== undefined) return recoveryCode !== null;
    this.#attempt.recoveryCode = this.hasRecoveryCodes
      ? this.#deps.recoveryCodes.find(this.#conversation.user, this.answer)
      : null;
    return this.#attempt.recoveryCode !== null;
  }
  get hasBypassCode(): boolean {
    return this.#rules.recoveryCodes && this.#deps.bypassCodes.status(this.#conversation.user) !== null;
  }
  get answerIsBypassCode(): boolean {
    return readBypassCode(this.answer) !== null;
  }
  get bypassCodeMatches(): boolean {
    return this.hasBypassCode && this.#deps.bypassCodes.matches(this.#conversation.user, this.#code);
  }
  get totpStep(): number | null {
    if (this.#attempt.totp === undefined) this.#attempt.totp = this.#findTotp();
    return this.#attempt.totp?.step ?? null;
  }
  get codeFault(): string | null {
    if (!this.enabled.has("totp")) return null;
    const fault = findCodeFault(this.#deps, this.#typedCode);
    if (fault !== null) this.#attempt.refusedFor = fault;
    return fault;
  }
  get mayChangePassword(): boolean {
    const { firstFactor, firstFactorBackend, appendMode } = this.#attempt.client.settings;
    if (!mayRelay(this.#deps.store)) return false;
    if (firstFactor !== "ldap" || this.#deps.passwords?.changes?.isAllowed(firstFactorBackend) !== true) {
      return false;
    }
    // The client must show prompts, and the user needs a second factor, which no policy leaves out.
    const canAsk = !appendMode && this.#attempt.appended === null && this.held !== "to_the_end";
    return canAsk && this.pick !== null && !this.#policy.bypasses("right", this.#packet);
  }
  get passwordDue(): boolean {
    return this.#conversation.passwordChange !== "";
  }
  get hasNewPassword(): boolean {
    return (openPasswordChange(this.#deps.vault, this.#conversation)?.next ?? null) !== null;
  }
  get newPasswordRepeated(): boolean {
    return repeatsNewPassword(this.#deps.vault, this.#conversation, this.#attempt);
  }
  get factorWasRight(): boolean {
    return openPasswordChange(this.#deps.vault, this.#conversation)?.hasFactor === true;
  }
  get passwordChange(): Facts["passwordChange"] {
    return this.#attempt.passwordChange;
  }
  /** Only read for a State whose conversation is gone. */
  get acceptFault(): AcceptFault | null {
    // The attributes of the policy are among those that must fit.
    this.#attempt.policy ??= this.#policy;
    return this.#deps.acceptFault?.(this.#conversation, this.#attempt) ?? null;
  }
  get stateWasDevice(): boolean {
    return false;
  }

  get #code(): string {
    const { appended } = this.#attempt;
    return appended !== null && "code" in appended ? appended.code : readCode(this.answer);
  }
  get #hasToken(): boolean {
    return this.#deps.hardwareTokens.usable(this.#conversation.user).length > 0;
  }
  #findTotp(): TypedTotp | null {
    return this.enabled.has("totp") ? findTypedTotp(this.#deps, this.#typedCode) : null;
  }
  get #typedCode(): Parameters<typeof findTypedTotp>[1] {
    const { user } = this.#conversation;
    return { user, own: this.#pairings, code: this.#code, nowMs: this.#deps.clock.nowMs() };
  }
}

// Finds the authenticator app or the hardware token whose current code is a typed code, and why it is the code of none.

interface TypedTotpDeps {
  readonly pairings: Pick<Pairings, "seedOf">;
  readonly hardwareTokens: Pick<HardwareTokens, "findCode" | "usable" | "open">;
}

interface TypedCode {
  /** Canonical. */
  readonly user: string;
  /** The user's pairings that can be used. */
  readonly own: readonly Pairing[];
  readonly code: string;
  readonly nowMs: number;
}

/** The factor and the step of a code; `null` if no app and no token of the user shows it now. */
export function findTypedTotp(
  { pairings, hardwareTokens }: TypedTotpDeps,
  { user, own, code, nowMs }: TypedCode,
): TypedTotp | null {
  for (const [pairing, seed] of appsOf(pairings, { own, code })) {
    const use = acceptAppCode(pairing, { seed, code, nowMs });
    if (use !== null) return { pairing, ...use };
  }
  const tokenCode = hardwareTokens.findCode(user, code);
  return tokenCode === null ? null : { step: tokenCode.use.next - 1, tokenCode };
}

/** Why a code that no app and no token shows now is refused, if it is a code of another time; `null`: it is the code of no factor. */
function findCodeFault(
  { pairings, hardwareTokens }: TypedTotpDeps,
  { user, own, code, nowMs }: TypedCode,
): CodeFault | null {
  for (const [pairing, seed] of appsOf(pairings, { own, code })) {
    const fault = explainRefusedCode(openApp(pairing, seed), { code, nowMs });
    if (fault !== null) return fault;
  }
  for (const token of hardwareTokens.usable(user)) {
    const open = token.record.digits === code.length ? hardwareTokens.open(token) : null;
    const fault = open === null ? null : explainRefusedCode(open, { code, nowMs });
    if (fault !== null) return fault;
  }
  return null;
}

/** The apps whose codes have as many digits, with their seeds. */
function* appsOf(
  pairings: Pick<Pairings, "seedOf">,
  { own, code }: Pick<TypedCode, "own" | "code">,
): Iterable<[TotpPairingRow, Uint8Array]> {
  if (!/^[0-9]{6,8}$/.test(code)) return;
  for (const pairing of own) {
    if (pairing.kind !== "totp" || appParameters(pairing).digits !== code.length) continue;
    const seed = pairings.seedOf(pairing);
    if (seed !== null) yield [pairing, seed];
  }
}

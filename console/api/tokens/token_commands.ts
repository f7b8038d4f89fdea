// Changes to hardware tokens by an administrator or the user: each with its audit record in one commit. No record has a seed or a code.

import type { AuditAction } from "../../../platform/audit_actions.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { userNotice } from "../../../platform/user_record.ts";
import type { PreparedTokenChange } from "../../../radius/tokens/hardware_tokens.ts";
import {
  checkTokenCode,
  type CodeCheck,
  type OpenToken,
  resynchronizeToken,
} from "../../../radius/tokens/token_codes.ts";
import {
  type HardwareToken,
  MAX_TOKENS_PER_USER,
  tokenDetails,
  tokenFactorId,
  tokenId,
  withTokenUser,
} from "../../../radius/tokens/token.ts";
import type { SignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import type { People } from "../deps.ts";
import { Refusal } from "../errors.ts";

export interface TokenCommandDeps {
  readonly people: People;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Wrong codes, by token. */
  readonly attempts: SignInRateLimit;
}

export interface TokenCaller {
  readonly actor: string;
  readonly source: string;
  readonly browser?: string | undefined;
}

export class TokenCommands {
  readonly #deps: TokenCommandDeps;

  constructor(deps: TokenCommandDeps) {
    this.#deps = deps;
  }

  /** @throws Refusal `unknown_hardware_token`. */
  find(serial: string): HardwareToken {
    const id = tokenId(serial);
    const token = id === null ? null : this.#deps.people.hardwareTokens.get(id);
    if (token === null) throw new Refusal("unknown_hardware_token");
    return token;
  }

  /** @param user in the spelling of the directory. @throws Refusal `hardware_token_taken`, `too_many_hardware_tokens`, `changed_meanwhile`. */
  async assign(caller: TokenCaller, serial: string, user: string): Promise<HardwareToken> {
    const { people: { hardwareTokens, findUserRecord }, clock, random } = this.#deps;
    const owner = await findUserRecord(user);
    const token = this.find(serial);
    const canonical = canonicalName(user);
    if (token.record.user === canonical) return token;
    if (token.record.user !== null) throw new Refusal("hardware_token_taken");
    if (hardwareTokens.of(canonical).length >= MAX_TOKENS_PER_USER) {
      throw new Refusal("too_many_hardware_tokens");
    }
    const atMs = clock.nowMs();
    const next = { ...token, record: withTokenUser(token.record, { name: user, atMs }) };
    const by = caller.actor === `user:${user}` ? "self" : "administrator";
    const notice = userNotice(user, { atMs, what: "token", by, recordId: owner.id }, random.bytes(4).toHex());
    const change = hardwareTokens.prepareChange(token, next.record);
    await this.#commit(change, [tokenRecord(caller, "hardware_token.assign", next), notice], [owner.check]);
    return next;
  }

  /** A token without a user stays as it is. @throws Refusal `changed_meanwhile`. */
  async unassign(caller: TokenCaller, serial: string): Promise<HardwareToken> {
    const token = this.find(serial);
    if (token.record.user === null) return token;
    const next = { ...token, record: withTokenUser(token.record, null) };
    const change = this.#deps.people.hardwareTokens.prepareChange(token, next.record);
    await this.#commit(change, [tokenRecord(caller, "hardware_token.unassign", token)]);
    return next;
  }

  /** @throws Refusal `changed_meanwhile`. */
  async enable(caller: TokenCaller, serial: string, isEnabled: boolean): Promise<HardwareToken> {
    const token = this.find(serial);
    if (token.record.isEnabled === isEnabled) return token;
    const next = { ...token, record: { ...token.record, isEnabled } };
    const change = this.#deps.people.hardwareTokens.prepareChange(token, next.record);
    const action = isEnabled ? "hardware_token.enable" : "hardware_token.disable";
    await this.#commit(change, [tokenRecord(caller, action, token)]);
    return next;
  }

  /** Removes a token with its seed. @throws Refusal `changed_meanwhile`. */
  async remove(caller: TokenCaller, serial: string): Promise<HardwareToken> {
    const token = this.find(serial);
    const change = this.#deps.people.hardwareTokens.prepareRemove(token);
    await this.#commit(change, [tokenRecord(caller, "hardware_token.remove", token)]);
    return token;
  }

  /**
   * Moves the position of a token to two consecutive codes, which are then used (RFC 4226 §7.4).
   *
   * @throws Refusal `hardware_token_codes_wrong`, `too_many_attempts`, `changed_meanwhile`.
   */
  async resynchronize(
    caller: TokenCaller,
    serial: string,
    codes: readonly [string, string],
  ): Promise<HardwareToken> {
    const { people: { hardwareTokens }, clock } = this.#deps;
    const attempt = await this.#deps.attempts.take({
      source: null,
      name: tokenFactorId(this.find(serial).id),
    });
    // Nothing waits between reading the position and taking the new one in memory.
    const token = this.find(serial);
    const use = resynchronizeToken(this.#open(token), { codes, nowMs: clock.nowMs() });
    if (use === null) throw new Refusal("hardware_token_codes_wrong");
    const change = hardwareTokens.prepareUse(token, use);
    await this.#commit(change, [tokenRecord(caller, "hardware_token.resynchronize", token)]);
    await attempt.forgive();
    return { ...token, use };
  }

  /** Checks a code without using it. @throws Refusal `too_many_attempts`. */
  async test(caller: TokenCaller, serial: string, code: string): Promise<CodeCheck> {
    const { clock, store } = this.#deps;
    const token = this.find(serial);
    const attempt = await this.#deps.attempts.take({ source: null, name: tokenFactorId(token.id) });
    const check = checkTokenCode(this.#open(token), { code, nowMs: clock.nowMs() });
    await store.commit({ mutations: [tokenRecord(caller, "hardware_token.test", token)] });
    if (check.kind !== "wrong") await attempt.forgive();
    return check;
  }

  /** @throws Refusal `hardware_token_unreadable`. */
  #open(token: HardwareToken): OpenToken {
    const open = this.#deps.people.hardwareTokens.open(token);
    if (open === null) throw new Refusal("hardware_token_unreadable");
    return open;
  }

  async #commit(
    change: PreparedTokenChange,
    also: readonly Mutation[],
    checks: readonly Check[] = [],
  ): Promise<void> {
    const { store } = this.#deps;
    try {
      const done = await store.commit({
        checks: [...change.checks, ...checks],
        mutations: [...change.mutations, ...also],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
    } catch (fault) {
      change.undo();
      await store.reread(change.keys);
      throw fault;
    }
    change.done();
  }
}

/** The audit record of a change of a token. */
export function tokenRecord(
  caller: TokenCaller,
  action: AuditAction,
  token: Parameters<typeof tokenDetails>[0],
): Mutation {
  const { actor, source, browser } = caller;
  const how = actor.startsWith("user:") ? "account" : actor === "command" ? "command" : "console";
  return auditEntry({ action, actor, source, browser, how, ...tokenDetails(token) });
}

// Imports of seed files: received in parts, checked, then applied. A file and its seeds are in memory only for a short time.

import { auditEntry } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, pauseFor, type Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import {
  MAX_SEED_FILE_CHARACTERS,
  readSeedFile,
  type SeedFileForm,
} from "../../../radius/tokens/files/seed_csv.ts";
import {
  SEED_FILE_PROBLEMS,
  SEED_ROW_PROBLEMS,
  type SeedFileOptions,
  type SeedRow,
} from "../../../radius/tokens/files/seed_rows.ts";
import {
  MAX_HARDWARE_TOKENS,
  MAX_TOKENS_PER_USER,
  type NewToken,
  tokenId,
} from "../../../radius/tokens/token.ts";
import { userNotice, type UserRecord } from "../../../platform/user_record.ts";
import { type People, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { createWorkRegistry, type WorkRegistry, type WorkRegistryDeps } from "../jobs/jobs.ts";
import { type TokenCaller, tokenRecord } from "./token_commands.ts";
import {
  TOKEN_IMPORT_VERDICTS,
  type TokenImportRow,
  type TokenImportVerdict,
  type TokenImportView,
} from "./token_types.ts";

interface TokenImportDeps extends WorkRegistryDeps {
  readonly people: People;
  readonly store: Store;
  readonly log: Log;
}

interface TokenImportOptions extends SeedFileOptions {
  /** Assigns tokens to the users that the file names. */
  readonly assigns: boolean;
}

interface TokenImportQuery {
  readonly verdict: TokenImportVerdict | "";
  readonly page: number;
  readonly size: number;
}

interface Row {
  readonly shown: TokenImportRow;
  readonly token: NewToken | null;
  /** The user that the file names, if the token is to be assigned. */
  readonly owner: string | null;
}

interface TokenImport {
  readonly id: string;
  readonly owner: string;
  readonly file: string;
  texts: string[];
  characters: number;
  state: TokenImportView["state"];
  problem: TokenImportView["problem"];
  form: SeedFileForm | null;
  isSigned: boolean;
  rows: readonly Row[];
  done: number;
  imported: number;
  isBusy(): boolean;
}

const LIMITS = { most: 4, mostEach: 1, idleMs: 10 * 60_000 };
const FIRST_PAGE: TokenImportQuery = { verdict: "", page: 1, size: 50 };
/** Rows after which logins continue. */
const ROWS_BETWEEN_PAUSES = 200;

export class TokenImports {
  readonly #deps: TokenImportDeps;
  readonly #registry: WorkRegistry<TokenImport>;

  constructor(deps: TokenImportDeps) {
    this.#deps = deps;
    this.#registry = createWorkRegistry<TokenImport>(deps, LIMITS);
  }

  /** @throws Refusal `too_much_under_way`. */
  begin({ owner, file }: { owner: string; file: string }): TokenImportView {
    const begun = this.#registry.put((id) => ({
      ...{ id, owner, file, texts: [], characters: 0, state: "receiving", problem: null, form: null },
      ...{ isSigned: false, rows: [], done: 0, imported: 0 },
      isBusy() {
        return this.state === "checking" || this.state === "applying";
      },
    }));
    if (begun === null) throw new Refusal("too_much_under_way");
    return viewOf(begun, FIRST_PAGE);
  }

  /** Adds the next part of the text. @throws Refusal `token_file_too_large`, `import_not_now`. */
  add(id: string, owner: string, text: string): TokenImportView {
    const found = this.#find(id, owner);
    if (found.state !== "receiving") throw new Refusal("import_not_now");
    if (found.characters + text.length > MAX_SEED_FILE_CHARACTERS) throw new Refusal("token_file_too_large");
    found.texts.push(text);
    found.characters += text.length;
    return viewOf(found, FIRST_PAGE);
  }

  /** Starts a dry run. It can be repeated with other options. @throws Refusal `import_not_now`. */
  check(id: string, owner: string, options: TokenImportOptions): TokenImportView {
    const found = this.#find(id, owner);
    if (found.isBusy() || found.state === "applied") throw new Refusal("import_not_now");
    return this.#start(found, {
      during: "checking",
      after: "checked",
      run: () => this.#check(found, options),
    });
  }

  view(id: string, owner: string, query: TokenImportQuery): TokenImportView {
    return viewOf(this.#find(id, owner), query);
  }

  /** Adds the new tokens. @throws Refusal `import_not_now`, `too_many_tokens_stored`. */
  apply(id: string, owner: string, caller: TokenCaller): TokenImportView {
    const found = this.#find(id, owner);
    if (found.state !== "checked" || found.problem !== null) throw new Refusal("import_not_now");
    const added = found.rows.filter(({ shown }) => shown.verdict === "new").length;
    if (this.#deps.people.hardwareTokens.size + added > MAX_HARDWARE_TOKENS) {
      throw new Refusal("too_many_tokens_stored");
    }
    return this.#start(found, {
      during: "applying",
      after: "applied",
      run: () => this.#apply(found, caller),
    });
  }

  /** Forgets the file and its seeds. @throws Refusal `import_not_now`. */
  end(id: string, owner: string): void {
    if (this.#find(id, owner).isBusy()) throw new Refusal("import_not_now");
    this.#registry.remove(id);
  }

  async #check(found: TokenImport, options: TokenImportOptions): Promise<void> {
    await this.#deps.store.catchUp();
    const read = await readSeedFile(found.texts.join(""), { options, pause: this.#pause });
    found.rows = [];
    found.problem = read.ok ? null : read.problem;
    found.form = read.ok ? read.form : null;
    found.isSigned = read.ok && read.isSigned;
    if (!read.ok) return;
    const rows: Row[] = [];
    const assigned = new Map<string, number>();
    for (const [at, row] of read.rows.entries()) {
      rows.push(await this.#judge(row, options.assigns ? assigned : null));
      found.done = at + 1;
      if (at % ROWS_BETWEEN_PAUSES === 0) await this.#pause();
    }
    found.rows = rows;
  }

  /** @param assigned the tokens that this import assigns to each user; `null`: it assigns none */
  async #judge(row: SeedRow, assigned: Map<string, number> | null): Promise<Row> {
    const { hardwareTokens } = this.#deps.people;
    const { token } = row;
    const id = token === null ? null : tokenId(token.serial);
    const verdict = id === null ? "refused" : hardwareTokens.get(id) === null ? "new" : "known";
    const assignment = verdict === "new" && assigned !== null && row.user !== ""
      ? await this.#assignment(row.user, assigned)
      : "none";
    return {
      token: verdict === "new" ? token : null,
      owner: assignment === "assigns" ? row.user : null,
      shown: {
        ...{ line: row.line, serial: row.serial, verdict, problem: row.problem, user: row.user, assignment },
        detail: row.problem === null ? "" : SEED_ROW_PROBLEMS[row.problem],
        kind: token?.kind ?? null,
        algorithm: token?.algorithm ?? null,
        digits: token?.digits ?? 0,
        periodS: token?.periodS ?? 0,
        manufacturer: token?.manufacturer ?? "",
      },
    };
  }

  async #assignment(user: string, assigned: Map<string, number>): Promise<TokenImportRow["assignment"]> {
    const { hardwareTokens, findUserRecord } = this.#deps.people;
    const { status } = await findUserRecord(user);
    if (status !== "active") return status === "inactive" ? "inactive_user" : "unknown_user";
    const canonical = canonicalName(user);
    const count = (assigned.get(canonical) ?? hardwareTokens.of(canonical).length) + 1;
    if (count > MAX_TOKENS_PER_USER) return "too_many";
    assigned.set(canonical, count);
    return "assigns";
  }

  /** Adds the tokens in several commits, each with its audit record. If one fails, the import stops, and can be repeated with the same file. */
  async #apply(found: TokenImport, caller: TokenCaller): Promise<void> {
    const { people: { hardwareTokens, loginTarget }, store } = this.#deps;
    const fresh = found.rows.flatMap(({ token, owner }) => token === null ? [] : [{ token, owner }]);
    const size = fresh.some(({ owner }) => owner !== null) ? maxAssigned(store) : hardwareTokens.maxNew;
    for (let at = 0; at < fresh.length;) {
      const next = fresh.slice(at, at + size);
      const owners = await readOwners(this.#deps.people, next);
      // Nothing waits from here until the commit begins.
      const part = next.filter(({ token }) => hardwareTokens.get(tokenId(token.serial) ?? "") === null);
      const assigned = assignTokens(this.#deps, { tokens: part, owners, caller });
      const change = hardwareTokens.prepareNew(assigned.tokens);
      const record = auditEntry({
        action: "hardware_token.import",
        ...{ actor: caller.actor, source: caller.source, browser: caller.browser },
        object: `target:${loginTarget()}`,
        from: found.file,
        count: part.length,
      });
      const done = await store.commit({
        checks: [...change.checks, ...assigned.checks],
        mutations: [...change.mutations, ...assigned.mutations, ...part.length === 0 ? [] : [record]],
      });
      if (!done.ok) {
        // Another node added one of them meanwhile, or a user left.
        await store.reread(change.keys);
        continue;
      }
      change.done();
      at += size;
      found.imported += part.length;
      found.done = Math.min(at, fresh.length);
      await this.#pause();
    }
    forgetSeeds(found);
  }

  #pause = (): Promise<void> => pauseFor(this.#deps.clock, 0);

  #find(id: string, owner: string): TokenImport {
    const found = this.#registry.take(id, owner);
    if (found === null) throw new Refusal("unknown_import");
    return found;
  }

  /** Starts work that continues after the request. */
  #start(
    found: TokenImport,
    { during, after, run }: {
      during: TokenImportView["state"];
      after: TokenImportView["state"];
      run: () => Promise<void>;
    },
  ): TokenImportView {
    found.state = during;
    found.done = 0;
    run().catch((fault: unknown) => {
      // The name of the fault only: its message may have a part of the file.
      this.#deps.log.error("an import of hardware tokens broke off", {
        fault: fault instanceof Error ? fault.name : "unknown",
      });
      found.problem = "failed";
    }).finally(() => found.state = after);
    return viewOf(found, FIRST_PAGE);
  }
}

function forgetSeeds(found: TokenImport): void {
  found.texts = [];
  found.rows = found.rows.map((row) => ({ ...row, token: null }));
}

function viewOf(found: TokenImport, { verdict, page, size }: TokenImportQuery): TokenImportView {
  const { id, file, state, problem, form, isSigned, done, imported } = found;
  const shown = found.rows.map((row) => row.shown);
  const fitting = verdict === "" ? shown : shown.filter((row) => row.verdict === verdict);
  const counts = Object.fromEntries(TOKEN_IMPORT_VERDICTS.map((one) => [one, 0])) as Record<
    TokenImportVerdict,
    number
  >;
  for (const row of shown) counts[row.verdict] += 1;
  return {
    ...{ id, file, state, problem, form, isSigned, done, imported, counts, page, size },
    detail: problem === null
      ? ""
      : problem === "failed"
      ? "The import failed. See the server log."
      : SEED_FILE_PROBLEMS[problem],
    total: shown.length,
    assigns: shown.filter(({ assignment }) => assignment === "assigns").length,
    matching: fitting.length,
    rows: fitting.slice((page - 1) * size, page * size),
  };
}

// The users to whom an import assigns tokens. They are checked again in the commit that assigns them: after the dry run a user may have left, or
// may have got other tokens. The token is then imported without a user.

/** A token to import, and the user that the file names. */
interface ImportedToken {
  readonly token: NewToken;
  readonly owner: string | null;
}

/** The active users among the owners, by canonical name. */
type ImportedOwners = ReadonlyMap<string, { readonly name: string; readonly record: UserRecord }>;

/** Tokens with the users that they are assigned to, and what their commit needs for it. */
interface AssignedTokens {
  readonly tokens: readonly ImportedToken[];
  readonly checks: readonly Check[];
  /** A record and a notice for each user. */
  readonly mutations: readonly Mutation[];
}

/** Tokens of one commit with owners. Each can need two checks: a KV Connect server accepts nine, and a file a hundred. */
const maxAssigned = ({ isShared }: { readonly isShared: boolean }): number => isShared ? 4 : 50;

/** Reads the owners of tokens as they are now. */
async function readOwners(
  people: People,
  tokens: readonly ImportedToken[],
): Promise<ImportedOwners> {
  const owners = new Map<string, { name: string; record: UserRecord }>();
  const { directory } = targetOf(people, undefined);
  for (const given of new Set(tokens.flatMap(({ owner }) => owner === null ? [] : [canonicalName(owner)]))) {
    const record = await people.findUserRecord(given);
    const stored = await directory.read("user", given);
    if (record.status === "active" && stored !== null) {
      owners.set(given, { name: stored.content.name, record });
    }
  }
  return owners;
}

/** Assigns tokens to owners that are active and have room. */
function assignTokens(
  { people, clock, random }: { people: People; clock: Clock; random: Random },
  { tokens, owners, caller }: {
    tokens: readonly ImportedToken[];
    owners: ImportedOwners;
    caller: TokenCaller;
  },
): AssignedTokens {
  const checks = new Map<string, Check>();
  const counts = new Map<string, number>();
  const mutations: Mutation[] = [];
  const atMs = clock.nowMs();
  const assigned = tokens.map(({ token, owner }): ImportedToken => {
    const canonical = owner === null ? "" : canonicalName(owner);
    const found = owners.get(canonical);
    if (found === undefined) return { token, owner: null };
    const count = (counts.get(canonical) ?? people.hardwareTokens.of(canonical).length) + 1;
    if (count > MAX_TOKENS_PER_USER) return { token, owner: null };
    counts.set(canonical, count);
    const { name, record: { id: recordId, check } } = found;
    checks.set(canonical, check);
    const what = { serial: token.serial, shownUser: name };
    mutations.push(
      tokenRecord(caller, "hardware_token.assign", { record: what }),
      userNotice(name, { atMs, what: "token", by: "administrator", recordId }, random.bytes(4).toHex()),
    );
    return { token, owner: name };
  });
  return { tokens: assigned, checks: [...checks.values()], mutations };
}

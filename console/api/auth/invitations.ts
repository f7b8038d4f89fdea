// One-time links: the server prints one for the first owner, and owners create others. The holder of a link chooses how to
// sign in. Only the digest of a link is stored.

import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { adminKeyName, type Role } from "./admin_records.ts";
import { Refusal } from "../errors.ts";

/** The purpose of a link, for its holder. */
export interface ClaimLink {
  readonly kind: "set_up" | "invitation";
  readonly role: Role;
  /** `null`: the holder chooses a name. */
  readonly name: string | null;
  readonly deadlineMs: number;
}

/** An open link. */
export interface Claim {
  readonly link: ClaimLink;
  /** The account that gets new sign-in methods; `null` for a new account. */
  readonly accountId: string | null;
  /** Fails after the link was used. */
  readonly check: Check;
}

/** An invitation that waits to be used. */
export interface InvitationRecord {
  readonly id: string;
  readonly digest: string;
  readonly name: string;
  readonly role: Role;
  readonly accountId: string | null;
  readonly by: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

interface SetupRecord {
  readonly digest: string;
  readonly deadlineMs: number;
  /** The links of other nodes that started before an owner existed. */
  readonly others?: readonly Pick<SetupRecord, "digest" | "deadlineMs">[];
}

export interface Invitations {
  setupLink(): Promise<string | null>;
  /** @throws Refusal `bad_set_up_link`, `bad_invitation`. */
  open(token: string): Promise<Claim>;
  /** A link for `name`, valid after the commit of `mutation`. An earlier link for the same name ends. */
  make(wanted: { name: string; role: Role; accountId: string | null; by: string }): {
    url: string;
    record: InvitationRecord;
    mutation: Mutation;
  };
  list(): Promise<InvitationRecord[]>;
}

interface InvitationsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: { readonly publicUrl: string };
  readonly hasOwner: () => Promise<boolean>;
}

const SETUP_KEY: Deno.KvKey = ["console_setup"];
const TOKEN_OCTETS = 16;
export const SETUP_MS = 60 * 60 * 1000;
/** An invitation has to be delivered, so it is valid for a day. */
export const INVITATION_MS = 24 * 60 * 60 * 1000;
const MAX_TOKEN_CHARACTERS = 256;
/** Set-up links of other nodes that stay valid. */
const MAX_SETUP_LINKS = 9;
const MAX_TRIES = 10;
const MAX_LISTED = 1000;
/** The prefix that distinguishes an invitation from the set-up link. */
const MARK = "i.";

/** The key of the invitation for a name. */
export function invitationKey(name: string): Deno.KvKey {
  return ["console_invitation", adminKeyName(name)];
}

/** The links that are valid now. */
function setupLinksOf(record: SetupRecord | null, nowMs: number) {
  const links = record === null ? [] : [record, ...record.others ?? []];
  return links.filter(({ deadlineMs }) => deadlineMs > nowMs)
    .map(({ digest, deadlineMs }) => ({ digest, deadlineMs }));
}

/** An earlier link ends, except those of other nodes: each node writes a link to its own first-start.txt. */
async function storeSetupLink({ store, clock }: InvitationsDeps, link: SetupRecord): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { key, value, versionstamp } = await store.get<SetupRecord>(SETUP_KEY);
    const others = store.isShared ? setupLinksOf(value, clock.nowMs()).slice(0, MAX_SETUP_LINKS) : [];
    const record: SetupRecord = others.length === 0 ? link : { ...link, others };
    const done = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: record, expireInMs: SETUP_MS }],
    });
    if (done.ok) return;
  }
  throw new Error("Cannot create the set-up link: other nodes create theirs at the same moment");
}

export function createInvitations(deps: InvitationsDeps): Invitations {
  const { store, vault, clock, random } = deps;
  const list = async (): Promise<InvitationRecord[]> => {
    const found: InvitationRecord[] = [];
    for await (
      const { value } of store.list<InvitationRecord>(["console_invitation"], { limit: MAX_LISTED })
    ) {
      if (value !== null && value.deadlineMs > clock.nowMs()) found.push(value);
    }
    return found;
  };

  const openSetup = async (token: string): Promise<Claim> => {
    const { value, versionstamp } = await store.get<SetupRecord>(SETUP_KEY);
    const digest = vault.digest("console setup", token);
    const found = setupLinksOf(value, clock.nowMs()).find((one) => equalDigests(one.digest, digest));
    if (found === undefined || await deps.hasOwner()) throw new Refusal("bad_set_up_link");
    return {
      link: { kind: "set_up", role: "owner", name: null, deadlineMs: found.deadlineMs },
      accountId: null,
      check: { key: SETUP_KEY, versionstamp },
    };
  };

  const openInvitation = async (token: string): Promise<Claim> => {
    const digest = vault.digest("console invitation", token);
    const known = (await list()).find((one) => equalDigests(one.digest, digest));
    if (known === undefined) throw new Refusal("bad_invitation");
    const { key, value, versionstamp } = await store.get<InvitationRecord>(invitationKey(known.name));
    if (value?.id !== known.id) throw new Refusal("bad_invitation");
    const { name, role, deadlineMs, accountId } = known;
    return {
      link: { kind: "invitation", role, name, deadlineMs },
      accountId,
      check: { key, versionstamp },
    };
  };

  return {
    list,
    async setupLink() {
      if (await deps.hasOwner()) {
        await store.commit({ mutations: [{ type: "delete", key: SETUP_KEY }] });
        return null;
      }
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const link = { digest: vault.digest("console setup", token), deadlineMs: clock.nowMs() + SETUP_MS };
      await storeSetupLink(deps, link);
      return `${deps.http.publicUrl}/setup#${token}`;
    },
    async open(token) {
      if (token.length > MAX_TOKEN_CHARACTERS) throw new Refusal("bad_invitation");
      return token.startsWith(MARK) ? await openInvitation(token) : await openSetup(token);
    },
    make({ name, role, accountId, by }) {
      const token = MARK + toBase64Url(random.bytes(TOKEN_OCTETS));
      const nowMs = clock.nowMs();
      const record: InvitationRecord = {
        id: toBase64Url(random.bytes(9)),
        digest: vault.digest("console invitation", token),
        name: name.normalize("NFC").trim(),
        role,
        accountId,
        by,
        createdMs: nowMs,
        deadlineMs: nowMs + INVITATION_MS,
      };
      return {
        url: `${deps.http.publicUrl}/setup#${token}`,
        record,
        mutation: { type: "set", key: invitationKey(name), value: record, expireInMs: INVITATION_MS },
      };
    },
  };
}

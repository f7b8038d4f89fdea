// A password hash with an earlier cost is renewed at sign-in, so that every sign-in takes the same work.

import { assertEquals, assertNotEquals } from "@std/assert";
import { type Admin, adminKey, type AdminRecord } from "../../console/api/auth/admin_records.ts";
import { AdminStore, createAdminPasswordHasher } from "../../console/api/auth/admin_store.ts";
import type { PasswordHasher } from "../../platform/password_hasher.ts";
import { Sessions } from "../../console/api/auth/sessions.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";

const PASSWORD = "correct horse battery";
const PLACE = { source: "192.0.2.1", agent: "a browser", by: "password", freshMs: 0 } as const;
const random = createSystemRandom();
const EARLIER = createAdminPasswordHasher({ random, cost: { costLog2: 5 } });
const CURRENT = createAdminPasswordHasher({ random, cost: { costLog2: 4, parallelization: 3 } });

interface Accounts extends AsyncDisposable {
  readonly store: Store;
  adminsWith(hasher: PasswordHasher): AdminStore;
  sessionsOf(admins: AdminStore): Sessions;
  record(): Promise<AdminRecord>;
}

/** A store with the administrator Ada, whose password hash has an earlier cost. */
async function openAccounts(changes: Partial<AdminRecord> = {}): Promise<Accounts> {
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: systemClock.nowMs });
  const password = await EARLIER.make(PASSWORD);
  const ada: AdminRecord = { id: "ada-1", name: "Ada", role: "owner", createdMs: 1, password, ...changes };
  await store.commit({ mutations: [{ type: "set", key: adminKey("Ada"), value: ada }] });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const settings = { sessionMs: 3_600_000, idleMs: 3_600_000 };
  return {
    store,
    sessionsOf: (admins) => new Sessions({ store, vault, clock: systemClock, random, admins, settings }),
    adminsWith: (hasher) =>
      new AdminStore({
        store,
        vault,
        clock: systemClock,
        random,
        log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
        http: { publicUrl: "http://localhost" },
        configAdmins: [],
        hasher,
      }),
    record: async () => (await store.get<AdminRecord>(adminKey("Ada"))).value ?? ada,
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("check() renews a hash of an earlier cost once, and the password stays valid", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith(CURRENT);
  const before = await accounts.record();
  assertEquals((await admins.check("Ada", PASSWORD))?.name, "Ada");
  const renewed = await accounts.record();
  assertEquals([renewed.password?.costLog2, renewed.password?.parallelization], [4, 3]);
  assertEquals({ ...renewed, password: null }, { ...before, password: null });
  assertEquals((await admins.check("Ada", PASSWORD))?.name, "Ada");
  assertEquals(await accounts.record(), renewed);
  assertEquals(await admins.check("Ada", "another password"), null);
});

Deno.test("a renewed hash ends no session, neither an older one nor the new one", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith(CURRENT);
  const sessions = accounts.sessionsOf(admins);
  const begin = async (admin: Admin | null) => {
    if (admin === null) throw new Error("The right password was refused");
    return (await sessions.begin(admin, PLACE)).token;
  };
  const tokens = [
    await begin(await accounts.adminsWith(EARLIER).check("Ada", PASSWORD)),
    // Two sign-ins at once: one of them loses the race to write the new hash.
    ...await Promise.all([1, 2].map(async () => begin(await admins.check("Ada", PASSWORD)))),
  ];
  assertEquals((await accounts.record()).password?.costLog2, 4);
  for (const token of tokens) {
    assertEquals((await sessions.resume(token, { countsAsUse: true }))?.admin.name, "Ada");
  }
});

Deno.test("check() does not renew a hash after a wrong password or for a disabled administrator", async () => {
  await using accounts = await openAccounts();
  const before = await accounts.record();
  assertEquals(await accounts.adminsWith(CURRENT).check("Ada", "another password"), null);
  assertEquals(await accounts.record(), before);
  await using disabled = await openAccounts({ disabled: true });
  const kept = await disabled.record();
  assertEquals(await disabled.adminsWith(CURRENT).check("Ada", PASSWORD), null);
  assertEquals(await disabled.record(), kept);
});

Deno.test("check() does not overwrite a record that changed while the password was hashed", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith({
    ...CURRENT,
    async make(password) {
      const changed = { ...await accounts.record(), role: "viewer" };
      await accounts.store.commit({ mutations: [{ type: "set", key: adminKey("Ada"), value: changed }] });
      return await CURRENT.make(password);
    },
  });
  await admins.check("Ada", PASSWORD);
  const { role, password } = await accounts.record();
  assertEquals([role, password?.costLog2], ["viewer", 5]);
});

Deno.test("check() accepts a right password while too many hashes wait", async () => {
  await using accounts = await openAccounts();
  const busy = { ...CURRENT, make: () => Promise.reject(new Refusal("busy")) };
  assertEquals((await accounts.adminsWith(busy).check("Ada", PASSWORD))?.name, "Ada");
  assertNotEquals((await accounts.record()).password?.costLog2, 4);
});

// `deno task shadow-report`: its arguments, and its text.

import { assertEquals, assertMatch } from "@std/assert";
import type { AdminApi } from "../../cli/admin_connection.ts";
import { planShadowReport, shadowReport } from "../../cli/shadow_report.ts";
import type { ShadowAdvice, ShadowClientReport } from "../../console/api/shadow/shadow_report.ts";

const PLAN = { client: "", days: "30", isOfUsers: false } as const;
const PLANS: readonly (readonly [args: string, plan: ReturnType<typeof planShadowReport>])[] = [
  ["", PLAN],
  ["--client vpn --days 7", { ...PLAN, client: "vpn", days: "7" }],
  ["--users", { ...PLAN, isOfUsers: true }],
  ["--days 8", "--days must be one of 1, 7, 30, 90"],
  ["vpn", "give the name of the client with --client"],
];
for (const [args, plan] of PLANS) {
  Deno.test(`planShadowReport() reads "${args}"`, () => {
    assertEquals(planShadowReport(args.split(" ").filter((one) => one !== "")), plan);
  });
}

const ADVICE: Readonly<Record<ShadowAdvice["code"], [values: ShadowAdvice["values"], expected: RegExp]>> = {
  times_out: [
    { waits: 15, hold: 25, client: 40, to: 13 },
    /stops waiting after 15 s.*at least 40 s, or hold_s to 13\./,
  ],
  may_time_out: [{ seen: 3, hold: 25, client: 40 }, /took 3 s.*at least 40 s/],
  hold_short: [{ p95: 30, hold: 25 }, /takes 30 s or more, and hold_s is 25/],
  prompts: [{ logins: 3 }, /shows prompts \(3 sign-ins\)/],
  no_prompts: [{ logins: 3 }, /device = "hold"/],
  unanswered: [{ requests: 2 }, /did not answer 2 requests/],
};

const REPORT: ShadowClientReport = {
  ...{ client: "vpn", isOfConsole: true, mode: "shadow", lastMs: 0, accepted: 7, rejected: 2, challenged: 1 },
  ...{ unanswered: 1, unrecorded: 1, p50Ms: 120, p95Ms: 900, maxMs: 2000, retryS: 5, tries: 3 },
  ...{ patienceMs: 15_000, holdMs: 25_000, device: "hold", users: 3, passed: 3 },
  methods: [{ method: "PAP", logins: 6, prompted: 0, unsigned: 2, named: 0 }],
  refused: { no_factor: 2, unknown: 1 },
  people: { no_factor: 1 },
  advice: Object.entries(ADVICE).map(([code, [values]]) => ({ code: code as ShadowAdvice["code"], values })),
};

function apiOf(clients: readonly ShadowClientReport[], users: readonly unknown[] = []): AdminApi {
  const reply = (value: unknown) => Promise.resolve({ ok: true, json: () => Promise.resolve(value) });
  return {
    shadow: {
      $get: () => reply({ nowMs: 0, clients }),
      users: { $get: () => reply({ nowMs: 0, total: users.length, users }) },
    },
  } as unknown as AdminApi;
}

Deno.test("shadowReport() has the figures of each client, and what to set", async () => {
  const { out, exitCode } = await shadowReport(apiOf([REPORT]), PLAN);
  assertEquals(exitCode, 0);
  for (
    const expected of [
      /^1 client observed, 30 days\./,
      /accepted \/ rejected \/ unanswered +7 \/ 2 \/ 1/,
      /would pass +3 of 6 \(50 %\)/,
      /refused: no_factor +2/,
      /PAP 6 \(2 unsigned\)/,
      /median 0\.1 s, 95 % 0\.9 s, longest 2\.0 s/,
      /every 5 s, up to 3 packets, stops after 15 s/,
      ...Object.values(ADVICE).map(([, text]) => text),
    ]
  ) assertMatch(out, expected);
});

Deno.test("shadowReport() without observations says so", async () => {
  assertMatch((await shadowReport(apiOf([]), PLAN)).out, /No client is in shadow mode/);
});

Deno.test("shadowReport() --users has those whose sign-ins would be refused", async () => {
  const row = { client: "vpn", logins: 2, lastMs: 0, methods: ["PAP"], canInvite: true };
  const users = [{ ...row, user: "ada", obstacle: "no_factor" }, { ...row, user: "bert", obstacle: null }];
  const { out } = await shadowReport(apiOf([], users), { ...PLAN, isOfUsers: true });
  assertMatch(out, /^1 user would be refused\./);
  assertMatch(out, /ada +vpn +no_factor +2 +PAP/);
  assertEquals(out.includes("bert"), false);
});

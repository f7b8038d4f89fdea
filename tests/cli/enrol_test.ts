// `deno task enrol`: its arguments, and what it does with the API.

import { assertEquals, assertMatch } from "@std/assert";
import { type EnrolPlan, planEnrol } from "../../cli/enrol.ts";
import { openOperator, openStandIn } from "./operator.ts";

const OPTIONS = { reminders: true, includesNumbers: true, again: false };
const INVITE = { does: "invite", name: null, isDryRun: false, waits: false, options: OPTIONS } as const;

const PLANS: readonly (readonly [args: string, plan: EnrolPlan | string])[] = [
  ["invite --all", { ...INVITE, users: { kind: "all" } }],
  ["invite --group staff --dry-run", { ...INVITE, users: { kind: "group", name: "staff" }, isDryRun: true }],
  ["invite --users ada,,bob --wait", {
    ...INVITE,
    users: { kind: "users", names: ["ada", "bob"] },
    waits: true,
  }],
  ["invite --file a.csv --name Week1 --deadline-days 7 --maximum 50 --per-minute 10 --again", {
    ...{ ...INVITE, users: { kind: "file", name: "a.csv" }, name: "Week1" },
    options: { ...OPTIONS, deadlineDays: 7, maximum: 50, perMinute: 10, again: true },
  }],
  ["invite --all --no-reminders --skip-numbers", {
    ...{ ...INVITE, users: { kind: "all" } },
    options: { ...OPTIONS, reminders: false, includesNumbers: false },
  }],
  ["campaigns", { does: "campaigns" }],
  ["cancel 0abc", { does: "cancel", id: "0abc" }],
  ["report", { does: "report", status: "", format: "csv" }],
  ["report --status overdue --format json", { does: "report", status: "overdue", format: "json" }],
  ["", "the action is missing"],
  ["send", "the action must be invite, campaigns, cancel or report"],
  ["invite", "give one of --all, --group, --users and --file"],
  ["invite --all --group staff", "give one of --all, --group, --users and --file"],
  ["invite --users ,", "--users must name a user"],
  ["invite --all --maximum 0", "--maximum must be a number from 1 to 1000000"],
  ["invite --all --deadline-days 366", "--deadline-days must be a number from 0 to 365"],
  ["invite --all --per-minute 1e3", "--per-minute must be a number from 1 to 60000"],
  ["invite --all --format csv", "--format is an option of report"],
  ["campaigns --all", "--all is an option of invite"],
  ["report --wait", "--wait is an option of invite"],
  ["report --status new", "--status must be one of enrolled, number, invited, overdue, not_invited"],
  ["report --format xml", "--format must be csv or json"],
  ["cancel", "the campaign is missing"],
  ["campaigns now", "there are too many words"],
  ["cancel a b", "there are too many words"],
];

for (const [args, plan] of PLANS) {
  Deno.test(`planEnrol() of "${args}"`, () => {
    assertEquals(planEnrol(args.split(" ").filter((word) => word !== "")), plan);
  });
}

const USERS = "userName,mail\nada,ada@example.com\nbob,bob@example.com\ncleo,\n";

Deno.test("enrol: a file of users is invited, listed, reported and cancelled beside a gateway", async () => {
  // The mails wait: no server answers on this port.
  const toml = '[mail]\nhost = "127.0.0.1"\nport = 9\nsecurity = "none"\nfrom = "no-reply@example.com"\n';
  await using operator = await openOperator({ toml });
  const file = `${operator.home}/users.csv`;
  await Deno.writeTextFile(file, USERS);
  await using _gateway = await openStandIn(operator, { toml });
  assertEquals((await operator.run("import", "default", file)).code, 0);
  const dry = await operator.run("enrol", "invite", "--file", file, "--dry-run");
  assertMatch(dry.stdout, /^2 of 3 users would get a mail\. Nothing was sent\./);
  assertMatch(dry.stdout, /1 user not invited: no address\./);
  const sent = await operator.run("enrol", "invite", "--file", file, "--name", "Week 1", "--wait");
  assertMatch(sent.stdout, /^2 invitations queued in campaign "Week 1", 0/);
  const [, id = ""] = /campaign "Week 1", (\S+)\.$/m.exec(sent.stdout) ?? [];
  const listed = await operator.run("enrol", "campaigns");
  assertMatch(listed.stdout, new RegExp(`${id}\\s+Week 1\\s+done\\s.*\\s3\\s+3\\s+2\\s+0\\s+0`));
  const report = await operator.run("enrol", "report", "--status", "invited");
  assertEquals(report.stdout.trim().split(/\r?\n/).slice(1).map((line) => line.split(",")[0]), [
    "ada",
    "bob",
  ]);
  assertMatch((await operator.run("enrol", "cancel", id)).stdout, /^Campaign "Week 1" is cancelled\./);
  const unknown = await operator.run("enrol", "cancel", "0none");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertMatch(unknown.stderr, /This campaign does not exist/);
});

// `deno task mail-test`: sends a test message and shows what the mail server answered.

import { COMMAND } from "../platform/command_name.ts";
import { MAIL_LANGUAGES, type MailLanguage } from "../platform/mail/mail_templates.ts";
import { type AdminApi, apiValue } from "./admin_connection.ts";
import { type CommandOutcome, resultText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, refusal, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Send a test message through the configured mail server.

Usage:
  ${COMMAND} mail-test <address>                 Send it in the language of mail.language.
  ${COMMAND} mail-test <address> --language de   Send it in German; en is English.
`;

interface MailTestPlan {
  readonly to: string;
  readonly language?: MailLanguage;
}

/** Reads the arguments. A text is the problem with them. */
export function planMailTest(args: readonly string[]): MailTestPlan | string {
  const parsed = parseCommandArgs(args, { language: { type: "string" } });
  if (!parsed.ok) return parsed.problem;
  const [to, second] = parsed.words;
  if (to === undefined) return "the address is missing";
  if (second !== undefined) return "there is more than one address";
  const given = parsed.values.language;
  if (given === undefined) return { to };
  const language = MAIL_LANGUAGES.find((one) => one === given);
  return language === undefined ? "the language must be en or de" : { to, language };
}

/** Sends the message. */
async function testMailServer(api: AdminApi, plan: MailTestPlan): Promise<CommandOutcome> {
  const { ok, problem, detail, tookMs } = await apiValue(api.mail.test.$post({ json: plan }));
  const notes = detail === "" ? [] : [`The server answered: ${detail}`];
  if (ok) return success(resultText(`The mail server accepted the message (${tookMs} ms).`, { notes }));
  return refusal(resultText(`The mail server did not accept the message: ${problem}.`, { notes }));
}

export const mailTestCommand = adminCommand({
  usage: USAGE,
  plan: planMailTest,
  run: (plan) => runCommand((api) => testMailServer(api, plan)),
});

if (import.meta.main) await runMain(mailTestCommand);

// Tests the settings of a mail server, also before they are saved: connects, signs in, and sends a test message.

import type { Config } from "../config/config.ts";
import type { Clock, Random } from "../runtime.ts";
import { mailDomain } from "./mail_address.ts";
import { checkedAddress } from "./mail_checks.ts";
import { MailRefusal } from "./mail.ts";
import type { MailLanguage } from "./mail_templates.ts";
import { mailTime } from "./mail_time.ts";
import type { FilledMail } from "./mail_text.ts";
import {
  createSmtpTransport,
  type MailTransport,
  type SmtpOutcome,
  type SmtpTransportOptions,
} from "./smtp_transport.ts";

export interface MailTrialDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly openTransport?: ((options: SmtpTransportOptions) => MailTransport) | undefined;
  readonly fill: (
    template: { readonly template: "test"; readonly language: MailLanguage },
    values: Readonly<Record<string, string>>,
  ) => FilledMail;
}

/** A test message. */
export interface TestMail {
  readonly to: string;
  readonly administrator: string;
  readonly language: MailLanguage;
}

/** An administrator waits for the result. */
const MAX_TRIAL_MS = 20_000;

/**
 * Tests settings. Without `message`, only the connection and the sign-in.
 *
 * @throws MailRefusal if no server is configured, or the address is not valid
 */
export async function tryMail(
  { clock, random, fill, openTransport = createSmtpTransport }: MailTrialDeps,
  { mail }: Pick<Config, "mail">,
  message: TestMail | null,
): Promise<SmtpOutcome> {
  const { host, from, timeoutMs } = mail;
  if (host === "" || from === null) throw new MailRefusal("mail_off", "no mail server is configured");
  const to = message === null ? null : checkedAddress(message);
  const settings = { ...mail, from, timeoutMs: Math.min(timeoutMs, MAX_TRIAL_MS) };
  const transport = openTransport({ settings, clock });
  try {
    if (message === null || to === null) return await transport.verify();
    const { language, administrator } = message;
    const values = { administrator, time: mailTime(clock.nowMs(), language) };
    const messageId = `${random.bytes(16).toHex()}@${mailDomain(from.address)}`;
    return await transport.send({
      ...fill({ template: "test", language }, values),
      to,
      messageId,
      secrets: [],
    });
  } finally {
    transport.close();
  }
}

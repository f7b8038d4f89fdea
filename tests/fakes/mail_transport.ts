// A transport of the tests, which keeps what it is given and answers as the test says.

import type { MailTransport, SmtpMessage, SmtpOutcome } from "../../platform/mail/smtp_transport.ts";
import type { MailProblemCode } from "../../platform/mail/mail_records.ts";

export interface FakeTransport extends MailTransport {
  /** The messages that were handed over, whatever the answer was. */
  readonly tried: readonly SmtpMessage[];
  /** Those that were accepted. */
  readonly accepted: readonly SmtpMessage[];
  /** The most attempts at the same time. */
  readonly most: () => number;
  answer: (message: SmtpMessage) => SmtpOutcome | Promise<SmtpOutcome>;
}

export const ACCEPTED: SmtpOutcome = { ok: true, detail: "250 2.0.0 Ok: queued" };
export const refusedAs = (code: MailProblemCode, detail = ""): SmtpOutcome => ({ ok: false, code, detail });

export function createFakeTransport(): FakeTransport {
  const tried: SmtpMessage[] = [];
  const accepted: SmtpMessage[] = [];
  let active = 0;
  let most = 0;
  const fake: FakeTransport = {
    tried,
    accepted,
    most: () => most,
    answer: () => ACCEPTED,
    async send(message) {
      tried.push(message);
      most = Math.max(most, ++active);
      const outcome = await fake.answer(message);
      active--;
      if (outcome.ok) accepted.push(message);
      return outcome;
    },
    verify: () => Promise.resolve({ ok: true, detail: "" }),
    close: () => undefined,
  };
  return fake;
}

// The health of the mail queue: its server, and the mails that wait or failed.

import type { MailService } from "../../../platform/mail/mail_service.ts";
import type { HealthPart } from "../targets/target_types.ts";

/** With an older mail that waits, the queue is a warning. */
const LONG_WAIT_MS = 3_600_000;

/** The part of the queue. Without a server, mail is not set up, which is no problem. */
export function mailPart(mail: Pick<MailService, "status" | "config">, nowMs: number): HealthPart {
  const { host } = mail.config.mail;
  const part = { id: "mail", kind: "mail", name: host, figure: null, detail: "", testable: false } as const;
  const { isConfigured, lastProblem, lastSentMs, oldestMs, waiting } = mail.status();
  if (!isConfigured) return { ...part, name: "", state: "off", lastGoodMs: null, note: "mail_off" };
  const tested = { ...part, lastGoodMs: lastSentMs, figure: waiting, testable: true };
  if (lastProblem !== null) {
    return {
      ...tested,
      state: "bad",
      detail: lastProblem.detail === "" ? lastProblem.code : lastProblem.detail,
    };
  }
  if (oldestMs !== null && nowMs - oldestMs > LONG_WAIT_MS) {
    return { ...tested, state: "warning", note: "mail_waits" };
  }
  return { ...tested, state: lastSentMs === null ? "unknown" : "ok" };
}

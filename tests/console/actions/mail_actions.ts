// API actions on queued mails and on their templates.

import { eventually } from "../../upstream/manual_clock.ts";
import type { ApiActions, Stage } from "./api_action.ts";

/** A mail that its server refused. */
async function withFailed({ site: { mail } }: Stage): Promise<{ about: string; id: string }> {
  const id = await mail.queue("refused@example.org", "ada");
  await eventually("the mail failed", () => mail.service.status().failed === 1);
  return { about: "user:ada", id };
}

const TEMPLATE = { subject: "Hello", body: "Hello {{displayName}}\n\n{{link}}" };

export const MAIL_ACTIONS: ApiActions = {
  "POST /mail/send-again": {
    prepare: async (stage) => ({ path: "/mail/send-again", json: { mails: [await withFailed(stage)] } }),
    action: "mail.send_again",
    object: "user:ada",
  },
  "POST /mail/remove": {
    prepare: async (stage) => ({
      path: "/mail/remove",
      json: { state: "failed", mails: [await withFailed(stage)] },
    }),
    action: "mail.remove",
    object: "user:ada",
  },
  "POST /mail/test": {
    prepare: () => ({ path: "/mail/test", json: { to: "grace@example.org" } }),
    action: "mail.test",
    object: "mail:test",
  },
  "POST /mail/templates/preview": { silent: "fills a text that is not saved, and changes nothing" },
  "PUT /mail/templates/:name/:language": {
    prepare: () => ({ path: "/mail/templates/invitation/en", json: TEMPLATE }),
    action: "mail.template_change",
    object: "mail:invitation.en",
  },
  "DELETE /mail/templates/:name/:language": {
    prepare: () => ({ path: "/mail/templates/invitation/de" }),
    action: "mail.template_reset",
    object: "mail:invitation.de",
  },
  "POST /settings/test/mail": { silent: "tests settings that are not saved, as the other tests of settings" },
};

// The templates of mails: one row for each, with its placeholders and its default texts. Administrators can change the texts. The browser reads
// this table too.

export type MailLanguage = "en" | "de";
export const MAIL_LANGUAGES: readonly MailLanguage[] = ["en", "de"];

/** A text with placeholders, such as `{{link}}`. A line whose placeholder is empty is left out. */
export interface MailText {
  readonly subject: string;
  readonly body: string;
}

interface TemplateRow {
  readonly placeholders: readonly string[];
  /** The texts must contain them, and a mail must have their values. */
  readonly required: readonly string[];
  /** Sent after the others: a campaign does not delay a mail that a user waits for. */
  readonly isBulk: boolean;
  readonly texts: Readonly<Record<MailLanguage, MailText>>;
}

/** The gateway fills these in each mail. */
export const COMMON_PLACEHOLDERS = ["organization"] as const;

export const MAIL_TEMPLATES = {
  invitation: {
    placeholders: ["userName", "displayName", "link", "until", "deadline", "helpText"],
    required: ["link"],
    isBulk: true,
    texts: {
      en: {
        subject: "Set up your sign-in with {{organization}}",
        body: `Hello {{displayName}},

{{organization}} protects your sign-in with a second step. Set it up on your phone or computer:

{{link}}

User name: {{userName}}
The link works until {{until}}. Do not forward it: it belongs to you.
From {{deadline}}, you need the second step to sign in.

{{helpText}}`,
      },
      de: {
        subject: "Richten Sie Ihre Anmeldung bei {{organization}} ein",
        body: `Hallo {{displayName}},

{{organization}} schützt Ihre Anmeldung mit einem zweiten Schritt. Richten Sie ihn auf Ihrem Telefon oder Computer ein:

{{link}}

Benutzername: {{userName}}
Der Link gilt bis {{until}}. Leiten Sie ihn nicht weiter: Er gehört Ihnen.
Ab {{deadline}} benötigen Sie den zweiten Schritt, um sich anzumelden.

{{helpText}}`,
      },
    },
  },
  reminder: {
    placeholders: ["userName", "displayName", "link", "until", "deadline", "helpText"],
    required: ["link"],
    isBulk: true,
    texts: {
      en: {
        subject: "Reminder: set up your sign-in with {{organization}}",
        body: `Hello {{displayName}},

You have not set up the second step of your sign-in yet. It takes a few minutes:

{{link}}

User name: {{userName}}
The link works until {{until}}.
From {{deadline}}, you need the second step to sign in.

{{helpText}}`,
      },
      de: {
        subject: "Erinnerung: Richten Sie Ihre Anmeldung bei {{organization}} ein",
        body: `Hallo {{displayName}},

Sie haben den zweiten Schritt Ihrer Anmeldung noch nicht eingerichtet. Es dauert wenige Minuten:

{{link}}

Benutzername: {{userName}}
Der Link gilt bis {{until}}.
Ab {{deadline}} benötigen Sie den zweiten Schritt, um sich anzumelden.

{{helpText}}`,
      },
    },
  },
  bypass: {
    placeholders: ["userName", "displayName", "administrator", "until", "uses", "helpText"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "A bypass code was created for your account",
        body: `Hello {{displayName}},

{{administrator}} created a bypass code for your account {{userName}}. You can sign in with it instead of your phone.

It works until {{until}}.
Number of sign-ins: {{uses}}

If you did not ask for it, tell your help desk at once.

{{helpText}}`,
      },
      de: {
        subject: "Für Ihr Konto wurde ein Ersatzcode erstellt",
        body: `Hallo {{displayName}},

{{administrator}} hat einen Ersatzcode für Ihr Konto {{userName}} erstellt. Sie können sich damit statt mit Ihrem Telefon anmelden.

Er gilt bis {{until}}.
Anzahl der Anmeldungen: {{uses}}

Wenn Sie nicht darum gebeten haben, informieren Sie sofort Ihren Helpdesk.

{{helpText}}`,
      },
    },
  },
  factor_removed: {
    placeholders: ["userName", "displayName", "factor", "time", "helpText"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "A sign-in method was removed from your account",
        body: `Hello {{displayName}},

A sign-in method was removed from your account {{userName}}: {{factor}}

Time: {{time}}

If this was not you, tell your help desk at once.

{{helpText}}`,
      },
      de: {
        subject: "Eine Anmeldemethode wurde von Ihrem Konto entfernt",
        body: `Hallo {{displayName}},

Von Ihrem Konto {{userName}} wurde eine Anmeldemethode entfernt: {{factor}}

Zeit: {{time}}

Wenn Sie das nicht waren, informieren Sie sofort Ihren Helpdesk.

{{helpText}}`,
      },
    },
  },
  alert: {
    placeholders: ["title", "details", "time", "node", "link"],
    required: ["title"],
    isBulk: false,
    texts: {
      en: {
        subject: "[{{organization}}] {{title}}",
        body: `{{title}}

{{details}}

Time: {{time}}
Node: {{node}}
Console: {{link}}`,
      },
      de: {
        subject: "[{{organization}}] {{title}}",
        body: `{{title}}

{{details}}

Zeit: {{time}}
Knoten: {{node}}
Konsole: {{link}}`,
      },
    },
  },
  test: {
    placeholders: ["administrator", "time"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "Test message of {{organization}}",
        body: `This is a test message. Mail works.

Sent by: {{administrator}}
Time: {{time}}`,
      },
      de: {
        subject: "Testnachricht von {{organization}}",
        body: `Das ist eine Testnachricht. Der Mailversand funktioniert.

Gesendet von: {{administrator}}
Zeit: {{time}}`,
      },
    },
  },
} as const satisfies Record<string, TemplateRow>;

export type MailTemplateName = keyof typeof MAIL_TEMPLATES;

/** The row of a template, as the same type for all. */
export function mailTemplateRow(name: MailTemplateName): TemplateRow {
  return MAIL_TEMPLATES[name];
}

// Templates: filling, hostile values, the checks of a changed text, times, and the help text.

import { assert, assertEquals } from "@std/assert";
import {
  DEFAULT_HELP_TEXT,
  fillMail,
  helpTextIn,
  MAIL_LANGUAGES,
  MAIL_TEMPLATES,
  type MailTemplateName,
  mailTemplateRow,
  mailTime,
  placeholdersOf,
  templateProblems,
} from "../../../platform/mail/mail_templates.ts";

const NAMES = Object.keys(MAIL_TEMPLATES) as MailTemplateName[];

for (const name of NAMES) {
  for (const language of MAIL_LANGUAGES) {
    Deno.test(`the default text of ${name} in ${language} is a valid template`, () => {
      const text = mailTemplateRow(name).texts[language];
      assertEquals(templateProblems(name, text), []);
      const values = Object.fromEntries(placeholdersOf(name).map((one) => [one, `<${one}>`]));
      const filled = fillMail(text, values);
      assert(!`${filled.subject}${filled.text}${filled.html}`.includes("{{"), filled.text);
      for (const one of mailTemplateRow(name).required) assert(filled.text.includes(`<${one}>`), one);
    });
  }
}

Deno.test("fillMail() leaves out a line whose placeholder is empty, and the gap that it leaves", () => {
  const { text } = fillMail(
    { subject: "S", body: "Hello {{displayName}},\n\nUntil {{until}}\nUser {{userName}}\n\n{{helpText}}\n" },
    { displayName: "Ada", userName: "ada", helpText: " " },
  );
  assertEquals(text, "Hello Ada,\n\nUser ada\n");
});

Deno.test("fillMail() keeps the line of a link, also with an empty placeholder in it", () => {
  const { text } = fillMail({ subject: "S", body: "{{link}} (until {{until}})\n{{until}}" }, {
    link: "https://example.com/",
  });
  assertEquals(text, "https://example.com/ (until )\n");
});

Deno.test("fillMail() keeps a name on one line and as text, and the lines of the help text", () => {
  const values = {
    displayName: "Ada\n\nYour account ends: https://evil.example/",
    userName: "https://evil.example/",
    helpText: "Call 1.\nOr 2.",
  };
  const body = "{{displayName}}\n\n{{userName}}\n\n{{helpText}}";
  const { text, html } = fillMail({ subject: "S", body }, values);
  assertEquals(
    text,
    "Ada  Your account ends: https: //evil. example/\n\nhttps: //evil. example/\n\nCall 1.\nOr 2.\n",
  );
  assert(!html.includes("<a "), html);
});

/** Values that mail programs would show as links, and how the mail has them. */
const UNLINKED: readonly (readonly [placeholder: string, value: string, shown: string])[] = [
  ["displayName", "Click https://evil.example now", "Click https: //evil. example now"],
  ["displayName", "HTTP://192.0.2.1/x", "HTTP: //192. 0. 2. 1/x"],
  ["displayName", "evil.example/path", "evil. example/path"],
  ["displayName", "(evil.example)", "(evil. example)"],
  ["displayName", "www.evil.example", "www. evil. example"],
  ["displayName", "evil。example", "evil。 example"],
  ["displayName", "m@evil.example", "m @ evil. example"],
  ["displayName", "mailto:m", "mailto: m"],
  ["displayName", "J.R. Smith, Dr. phil. (Room 1.2, 14:07)", "J.R. Smith, Dr. phil. (Room 1.2, 14:07)"],
  ["administrator", "ada@evil.example", "ada @ evil. example"],
  ["factor", "Phone evil.example", "Phone evil. example"],
  ["userName", "ada@corp.example", "ada@corp.example"],
  ["userName", "https://evil.example", "https: //evil. example"],
  ["userName", "evil.example/path", "evil. example/path"],
  ["title", "User www.evil.example is locked", "User www. evil. example is locked"],
  ["details", "14:07:39 ldap1.corp.example 10.0.12.16/28", "14:07:39 ldap1.corp.example 10.0.12.16/28"],
  ["details", "evil.example:8080/x", "evil. example: 8080/x"],
  [
    "helpText",
    "https://help.corp.example or help@corp.example",
    "https://help.corp.example or help@corp.example",
  ],
  ["organization", "corp.example", "corp.example"],
];
for (const [placeholder, value, shown] of UNLINKED) {
  Deno.test(`fillMail() shows {{${placeholder}}} with "${value}" as "${shown}"`, () => {
    const mail = fillMail({ subject: `{{${placeholder}}}`, body: `{{${placeholder}}}` }, {
      [placeholder]: value,
    });
    assertEquals([mail.subject, mail.text], [shown, `${shown}\n`]);
    assert(mail.html.includes(shown), mail.html);
  });
}

for (const template of NAMES) {
  Deno.test(`no name in a mail of the template ${template} leads to another site`, () => {
    for (const language of MAIL_LANGUAGES) {
      const names = placeholdersOf(template).filter((one) =>
        !["link", "helpText", "organization"].includes(one)
      );
      const values = Object.fromEntries(names.map((one) => [one, "https://evil.example/x www.evil.example"]));
      const { subject, text, html } = fillMail(MAIL_TEMPLATES[template].texts[language], values);
      for (const part of [subject, text, html]) assertEquals(/:\/\/|evil\.example/.test(part), false, part);
    }
  });
}

Deno.test("fillMail() keeps a subject on one line", () => {
  const { subject } = fillMail({ subject: "Alert: {{title}}", body: "x" }, {
    title: "a\r\nBcc: eve@example.org\u2028b",
  });
  assertEquals(subject, "Alert: a Bcc: eve@example.org b");
});

Deno.test("fillMail() escapes values in HTML and links only addresses of the web", () => {
  const body = "{{name}}\n\n{{link}}\n\n{{other}}";
  const { html } = fillMail({ subject: "S", body }, {
    name: `<script>alert("1")</script> & '`,
    link: 'https://example.com/?a=1&b="2"',
    other: "javascript:alert(1)",
  });
  assert(html.includes("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;"));
  assert(html.includes('<a href="https://example.com/?a=1&amp;b=&quot;2&quot;">'));
  assert(!html.includes('href="javascript'));
  assert(!html.includes("<script"));
});

Deno.test("fillMail() does not read a placeholder in a value", () => {
  const { text } = fillMail({ subject: "S", body: "{{displayName}} {{link}}" }, {
    displayName: "{{link}} $& $1",
    link: "https://example.com/",
  });
  assertEquals(text, "{{link}} $& $1 https://example.com/\n");
});

Deno.test("fillMail() removes control characters of values, and ignores members of the prototype", () => {
  const { text } = fillMail({ subject: "S", body: "{{constructor}}a{{x}}" }, { x: "\u202eevil\u0007" });
  assertEquals(text, "\n");
  assertEquals(fillMail({ subject: "S", body: "a{{x}}" }, { x: "\u202eevil\u0007" }).text, "aevil\n");
});

interface ProblemRow {
  readonly subject?: string;
  readonly body?: string;
  readonly problems: readonly string[];
}

const PROBLEMS: Readonly<Record<string, ProblemRow>> = {
  "a valid text": { problems: [] },
  "an empty subject": { subject: " ", problems: ["subject empty"] },
  "an empty text": { body: "", problems: ["body empty", "body missing_placeholder link"] },
  "a subject of two lines": { subject: "a\nb", problems: ["subject control_characters"] },
  "a control character": { body: "{{link}}\u0000", problems: ["body control_characters"] },
  "an unknown placeholder": {
    body: "{{link}} {{password}}",
    problems: ["body unknown_placeholder password"],
  },
  "a placeholder of another template": {
    subject: "{{title}}",
    problems: ["subject unknown_placeholder title"],
  },
  "the name of a built-in member": {
    body: "{{link}} {{constructor}}",
    problems: ["body unknown_placeholder constructor"],
  },
  "a required placeholder that is missing": { body: "Hello", problems: ["body missing_placeholder link"] },
  "a link in the subject": { subject: "{{link}}", problems: ["subject link_in_subject link"] },
  "a link in the subject only": {
    subject: "{{link}}",
    body: "Hello",
    problems: ["subject link_in_subject link", "body missing_placeholder link"],
  },
  "braces that do not match": { body: "{{link}} {{until}", problems: ["body bad_braces"] },
  "a text that is too long": { body: `{{link}}${"x".repeat(8000)}`, problems: ["body too_long"] },
  "a subject that is too long": { subject: "x".repeat(201), problems: ["subject too_long"] },
};

for (const [what, { subject = "Subject", body = "{{link}}", problems }] of Object.entries(PROBLEMS)) {
  Deno.test(`templateProblems() of ${what}: ${problems.join(", ") || "none"}`, () => {
    const found = templateProblems("invitation", { subject, body }).map(({ field, code, placeholder }) =>
      [field, code, placeholder].filter((part) => part !== undefined).join(" ")
    );
    assertEquals(found, [...problems]);
  });
}

Deno.test("mailTime() names the day, the time and the zone in both languages", () => {
  const atMs = Date.UTC(2026, 10, 24, 9, 30);
  const timeZone = "Europe/Berlin";
  assertEquals(mailTime(atMs, "en", { timeZone }), "24 November 2026 at 10:30 CET");
  assertEquals(mailTime(atMs, "de", { timeZone }), "24. November 2026 um 10:30 MEZ");
});

// [language of the mail, setting, text in the mail]
const ROWS = [
  ["en", DEFAULT_HELP_TEXT.en, DEFAULT_HELP_TEXT.en],
  ["de", DEFAULT_HELP_TEXT.en, DEFAULT_HELP_TEXT.de],
  ["de", "Call 4711.", "Call 4711."],
  ["de", "", ""],
] as const;

for (const [language, configured, expected] of ROWS) {
  Deno.test(`the help text ${JSON.stringify(configured)} in a mail in ${language}`, () => {
    assertEquals(helpTextIn(language, configured), expected);
  });
}

// The sentences of alerts, in both languages: what happened, and what to do next.

import type { MailLanguage } from "../mail/mail_templates.ts";
import type { AlertKind, AlertSeverity } from "./alert_kinds.ts";
import type { AlertMessage } from "./alert_rules.ts";

/** The parameters of a sentence, as texts. */
export interface SentenceTexts {
  readonly user: string;
  /** The names of a flood; "": the alert is about one object. */
  readonly users: string;
  readonly count: string;
  readonly name: string;
  readonly of: string;
  readonly until: string;
  readonly isPast: boolean;
  readonly average: string;
  readonly client: string;
}

interface KindTexts {
  readonly title: (texts: SentenceTexts) => string;
  /** What the administrator does next. */
  readonly next: string;
}

type Sentences = Readonly<Record<AlertKind, KindTexts>>;

const ENGLISH: Sentences = {
  user_locked: {
    title: ({ user, users, count }) =>
      users === "" ? `User ${user} is locked` : `${count} lockouts: ${users}`,
    next: "Ask the user whether the failed sign-ins were theirs, then unlock the user in the console.",
  },
  rejection_spike: {
    title: ({ count, average }) =>
      `${count} rejected sign-ins in ten minutes${average === "" ? "" : ` (average: ${average})`}`,
    next: "Check in the history which users and addresses they concern.",
  },
  fraud_reported: {
    title: ({ user, users, count }) =>
      users === ""
        ? `${user} reports a sign-in that was not theirs`
        : `${count} reports of sign-ins by others: ${users}`,
    next:
      "The user is locked. The password is probably known to others: change it before you unlock the user.",
  },
  disconnect_manually: {
    title: ({ user, users, client, count }) =>
      users === ""
        ? `Disconnect the session of ${user} at ${client} by hand`
        : `Disconnect ${count} sessions by hand: ${users}`,
    next: "The user reported a sign-in by others, and the gateway could not end the session.",
  },
  backend_failing: {
    title: ({ name }) => `The connector ${name} fails`,
    next: "Sign-ins and changes that need it fail. Check the server and System status.",
  },
  service_failing: {
    title: ({ of, name }) => `${of} fails${name === "" ? "" : `: ${name}`}`,
    next: "Check it on the page System status.",
  },
  changes_undelivered: {
    title: ({ name, count }) => `${count} changes of the directory ${name} could not be delivered`,
    next: "Correct the cause, then retry them on the page of the directory.",
  },
  node_down: {
    title: ({ name }) => `The node ${name} does not answer`,
    next: "The other nodes continue. Check the host.",
  },
  certificate_expiring: {
    title: ({ of, name, until, isPast }) =>
      `The certificate for ${of} (${name}) ${isPast ? "expired on" : "expires on"} ${until}`,
    next: "Install a new certificate.",
  },
  credential_expiring: {
    title: ({ of, name, until, isPast }) => `${of} ${name} ${isPast ? "expired on" : "expires on"} ${until}`,
    next: "Create a new one, and use it in the system that signs in with it.",
  },
};

const GERMAN: Sentences = {
  user_locked: {
    title: ({ user, users, count }) =>
      users === "" ? `Benutzer ${user} ist gesperrt` : `${count} Sperren: ${users}`,
    next:
      "Fragen Sie den Benutzer, ob die Fehlversuche von ihm waren, und entsperren Sie ihn dann in der Konsole.",
  },
  rejection_spike: {
    title: ({ count, average }) =>
      `${count} abgelehnte Anmeldungen in zehn Minuten${average === "" ? "" : ` (Durchschnitt: ${average})`}`,
    next: "Prüfen Sie im Verlauf, welche Benutzer und Adressen betroffen sind.",
  },
  fraud_reported: {
    title: ({ user, users, count }) =>
      users === ""
        ? `${user} meldet eine fremde Anmeldung`
        : `${count} Meldungen fremder Anmeldungen: ${users}`,
    next:
      "Der Benutzer ist gesperrt. Das Passwort ist vermutlich anderen bekannt: Ändern Sie es, bevor Sie den Benutzer entsperren.",
  },
  disconnect_manually: {
    title: ({ user, users, client, count }) =>
      users === ""
        ? `Trennen Sie die Sitzung von ${user} an ${client} von Hand`
        : `Trennen Sie ${count} Sitzungen von Hand: ${users}`,
    next:
      "Der Benutzer hat eine fremde Anmeldung gemeldet, und das Gateway konnte die Sitzung nicht beenden.",
  },
  backend_failing: {
    title: ({ name }) => `Der Konnektor ${name} ist gestört`,
    next:
      "Anmeldungen und Änderungen, die ihn benötigen, schlagen fehl. Prüfen Sie den Server und den Systemstatus.",
  },
  service_failing: {
    title: ({ of, name }) => `${of} ist gestört${name === "" ? "" : `: ${name}`}`,
    next: "Prüfen Sie dies auf der Seite Systemstatus.",
  },
  changes_undelivered: {
    title: ({ name, count }) => `${count} Änderungen des Verzeichnisses ${name} wurden nicht zugestellt`,
    next: "Beheben Sie die Ursache, und wiederholen Sie sie auf der Seite des Verzeichnisses.",
  },
  node_down: {
    title: ({ name }) => `Der Knoten ${name} antwortet nicht`,
    next: "Die anderen Knoten arbeiten weiter. Prüfen Sie den Host.",
  },
  certificate_expiring: {
    title: ({ of, name, until, isPast }) =>
      `Das Zertifikat für ${of} (${name}) ${isPast ? `ist am ${until} abgelaufen` : `läuft am ${until} ab`}`,
    next: "Installieren Sie ein neues Zertifikat.",
  },
  credential_expiring: {
    title: ({ of, name, until, isPast }) =>
      `${of} ${name} ${isPast ? `ist am ${until} abgelaufen` : `läuft am ${until} ab`}`,
    next: "Erstellen Sie neue Zugangsdaten, und verwenden Sie sie in dem System, das sich damit anmeldet.",
  },
};

/** By language and kind. */
export const ALERT_SENTENCES: Readonly<Record<MailLanguage, Sentences>> = { en: ENGLISH, de: GERMAN };

/** Before a title, by language. */
export const MESSAGE_PREFIXES: Readonly<Record<MailLanguage, Readonly<Record<AlertMessage, string>>>> = {
  en: { opened: "", again: "Again: ", reminder: "Still: ", ended: "Resolved: " },
  de: { opened: "", again: "Erneut: ", reminder: "Weiterhin: ", ended: "Behoben: " },
};
/** Before a title, by language. */
export const SEVERITY_PREFIXES: Readonly<Record<MailLanguage, Readonly<Record<AlertSeverity, string>>>> = {
  en: { critical: "Critical: ", warning: "" },
  de: { critical: "Kritisch: ", warning: "" },
};

/** What a part, a certificate or a credential is, by its code. */
export const PART_TEXTS: Readonly<Record<MailLanguage, ReadonlyMap<string, string>>> = {
  en: new Map([
    ["second_factor", "The second-factor service"],
    ["telephony", "The telephony service"],
    ["push", "The push service"],
    ["push_host", "The push service"],
    ["mail", "Mail"],
    ["log_export", "The log export"],
    ["alerts", "The receiver of alerts"],
    ["store", "The data store"],
    ["http", "the console"],
    ["log_export_client", "the log export"],
    ["log_export_authority", "the receiver of the log export"],
    ["directory_authority", "the directory"],
    ["scim", "The SCIM credential"],
    ["token", "The API token"],
  ]),
  de: new Map([
    ["second_factor", "Der Zwei-Faktor-Dienst"],
    ["telephony", "Der Telefonie-Dienst"],
    ["push", "Der Push-Dienst"],
    ["push_host", "Der Push-Dienst"],
    ["mail", "Der Mailversand"],
    ["log_export", "Der Protokoll-Export"],
    ["alerts", "Der Alarm-Empfänger"],
    ["store", "Der Datenspeicher"],
    ["http", "die Konsole"],
    ["log_export_client", "den Protokoll-Export"],
    ["log_export_authority", "den Empfänger des Protokoll-Exports"],
    ["directory_authority", "das Verzeichnis"],
    ["scim", "Das SCIM-Geheimnis"],
    ["token", "Das API-Token"],
  ]),
};

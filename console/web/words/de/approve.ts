// Was auf der Seite steht, die eine Anmeldung bestätigt. Auf Deutsch.

import type { words as en } from "../en/approve.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  title: "Anmeldung bestätigen",
  question: "Meldest du dich gerade an?",
  application: "Anwendung",
  as: "Als",
  through: "Über",
  from: "Von",
  not_known: "nicht bekannt",
  phone: "Auf dem Telefon",
  asked: "Gefragt",
  asked_ago: { one: "vor {count} Sekunde, um {time} UTC", other: "vor {count} Sekunden, um {time} UTC" },
  left: "Zeit übrig",
  left_seconds: {
    one: "{count} Sekunde, als die Seite geöffnet wurde",
    other: "{count} Sekunden, als die Seite geöffnet wurde",
  },
  number: "Zahl, die bei der Anmeldung steht",
  number_hint: "Zwei Ziffern. Eine falsche Zahl lehnt die Anmeldung ab.",
  number_missing: "Die zwei Ziffern eintippen, die bei der Anmeldung stehen.",
  approve: "Bestätigen",
  deny: "Ablehnen",
  not_me: "Das war ich nicht",
  not_me_what:
    "Du hast diese Anmeldung nicht begonnen? Sie wird abgelehnt, alle Anmeldungen unter deinem Namen sind eine Stunde lang gesperrt, und die Administratoren erfahren davon.",
  approved: "Bestätigt",
  approved_next: "Die Anmeldung geht von selbst weiter. Diese Seite kann geschlossen werden.",
  denied: "Abgelehnt",
  denied_next: "Die Anmeldung wurde abgewiesen. Diese Seite kann geschlossen werden.",
  wrong_number_next:
    "Das war nicht die Zahl der Anmeldung, deshalb wurde sie abgelehnt. Die Anmeldung neu beginnen.",
  expired: "Die Zeit ist um",
  expired_next:
    "Die Anfrage wurde nicht rechtzeitig beantwortet, die Anmeldung wurde abgewiesen. Neu beginnen, wenn du es warst.",
  cancelled: "Die Anmeldung wurde aufgegeben",
  cancelled_next: "Es gibt nichts mehr zu bestätigen. Neu beginnen, wenn du es warst.",
  unknown: "Keine solche Anmeldung",
  unknown_next: "Hier wartet keine Anmeldung von dir. Vielleicht ist sie schon eine Weile vorbei.",
  signed_out: "Diese Seite auf dem Telefon öffnen",
  signed_out_next:
    "Nur dein gekoppeltes Telefon, oder ein Browser, in dem du deine eigene Seite geöffnet hast, kann diese Anmeldung bestätigen. Kommst du aus einer Nachricht? Dann noch einmal öffnen:",
  open_again: "Noch einmal öffnen",
  no_service: "Nicht hier",
  no_service_next: "Anmeldungen werden in der App eines externen Dienstes bestätigt, nicht auf dieser Seite.",
  locked:
    "Bis {time} UTC sind Anmeldungen unter deinem Namen gesperrt, außer ein Administrator hebt die Sperre auf.",
  told: "Die Administratoren wissen davon.",
  my_page: "Mein Konto",
  my_phone: "Dieses Telefon",
};

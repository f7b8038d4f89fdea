// Words of the phone page, in German.

import type { words as english } from "../en/device.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof english> = {
  title: "Countersign auf diesem Telefon",
  try_again: "Erneut versuchen",
  listening: "Verbunden",
  reconnecting: "Verbindet neu",

  notice_title: "Für Sie wurde ein Faktor hinzugefügt.",
  notice_device: "Telefon",
  notice_sms: "Nummer für Textnachrichten",
  notice_voice: "Nummer für Anrufe",
  notice_totp: "Authenticator-App",
  notice_recovery_codes: "Wiederherstellungscodes",
  notice_next: "Prüfen Sie Ihre Anmeldemethoden",

  calm: "Nichts zu genehmigen",
  calm_next: "Eine Anmeldung, die dieses Telefon fragt, erscheint hier.",
  paired_with: "Gekoppelt mit",
  account: "Mein Konto: Faktoren, letzte Anmeldungen, „das war ich nicht“",

  question: "Melden Sie sich gerade an?",
  application: "Anwendung",
  user: "Benutzer",
  network: "Netz",
  from: "Von",
  not_known: "nicht bekannt",
  request_over: "Diese Anfrage ist abgelaufen. Beginnen Sie die Anmeldung neu.",
  time_left: "Verbleibende Zeit",
  number: "Zahl, die Ihre Anmeldung zeigt",
  number_hint: "Eine falsche Zahl lehnt die Anmeldung ab.",
  deny: "Ablehnen",
  approve: "Genehmigen",
  confirm: "Bestätigen",

  pair_title: "Dieses Telefon koppeln?",
  pair_asked:
    "Eine Anmeldung von {user} bei {service} hat Ihren Satz benutzt. Bestätigen Sie nur, wenn Sie ihn gerade selbst eingegeben haben.",
  pair_invited:
    "Anmeldungen von {user} bei {service} fragen dann dieses Telefon. Die Einladung läuft in {left} ab.",
  pair: "Telefon koppeln",
  not_now: "Nicht jetzt",
  name: "Name dieses Telefons",
  name_hint: "Optional: So unterscheiden Sie Ihre Telefone.",
  proposed_name: "{browser} auf {device}",

  unpair: "Trennen",
  unpair_of: "von {user}",
  unpair_title: "Dieses Telefon von {user} trennen?",
  unpair_text:
    "Anmeldungen fragen dieses Telefon nicht mehr. Um es wieder zu koppeln, brauchen Sie eine neue Einladung oder einen neuen Satz. Faktoren, die dieses Telefon hinzugefügt hat, gelten erst wieder, wenn ein anderer Faktor oder Ihr Administrator sie bestätigt.",
  keep: "Behalten",
  show_passcode: "Passcode zeigen",
  hide_passcode: "Passcode verbergen",
  passcode_of: "für {user}",

  reading: "Die Einladung wird gelesen…",
  without_invitation: "Ohne Einladung fortfahren",
  pair_why:
    "Danach fragen Ihre Anmeldungen dieses Telefon, und Sie genehmigen sie hier oder lehnen sie ab. Es gibt zwei Wege.",
  by_link: "Mit einer Einladung",
  by_link_how:
    "Öffnen Sie auf diesem Telefon den Link Ihrer Administration, oder scannen Sie den Code mit der Kamera.",
  by_phrase: "Mit einem Kopplungssatz",
  by_phrase_how:
    "Eine Anmeldung kann nach einem Kopplungssatz fragen. Diese Seite erzeugt ihn, Sie geben ihn dort ein.",
  show_phrase: "Kopplungssatz zeigen",
  phrase_title: "Ihr Kopplungssatz",
  phrase_over: "Er ist abgelaufen.",
  phrase_how: "Geben Sie ihn bei der Anmeldung ein, die danach fragt. Er gilt einmal und läuft in {left} ab.",
  new_phrase: "Neuen Satz zeigen",

  did_approved: "Genehmigt. Kehren Sie zu Ihrer Anmeldung zurück.",
  did_denied: "Abgelehnt. Die Anmeldung wurde blockiert.",
  did_paired: "Dieses Telefon ist gekoppelt.",
  did_pairing_denied: "Abgelehnt. Dieses Telefon wurde nicht gekoppelt.",
  did_unpaired: "Dieses Telefon ist getrennt.",

  fail_offline: "Der Server hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es erneut.",
  fail_nonsense: "Die Antwort des Servers ist nicht lesbar. Laden Sie die Seite neu.",
  fail_no_phone_page: "Dieses Gateway nutzt für Telefone einen anderen Dienst.",
  fail_unknown_token: "Dieses Telefon ist nicht mehr gekoppelt.",
  fail_unknown_invitation: "Diese Einladung ist nicht bekannt. Bitten Sie um eine neue.",
  fail_account_changed:
    "Dieser Link gilt nicht mehr: Das Konto wurde deaktiviert oder entfernt. Bitten Sie Ihre Administration um einen neuen.",
  fail_already_used:
    "Diese Einladung wurde schon benutzt. Bitten Sie um eine neue, wenn Sie das nicht waren.",
  fail_expired: "Das ist abgelaufen.",
  fail_unknown_request: "Diese Anfrage gibt es nicht mehr.",
  fail_already_decided: "Diese Anfrage wurde schon beantwortet.",
  fail_wrong_number: "Das war nicht die Zahl der Anmeldung, deshalb wurde sie abgelehnt.",
  fail_bad_phone_name: "Ein Name hat 1 bis 60 sichtbare Zeichen.",
  fail_too_many_tries: "Zu viele Versuche. Warten Sie einige Minuten und versuchen Sie es erneut.",
};

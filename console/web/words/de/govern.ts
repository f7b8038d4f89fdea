// Words of the audit, in German.

import type { words as en } from "../en/govern.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  audit: "Protokoll",
  deeds: "Was getan wurde",
  at: "Wann",
  who: "Wer",
  deed: "Was",
  object: "An wem oder was",
  change: "Vorher → nachher",
  from_place: "Von",
  filter_actor: "Wer",
  filter_object: "An, etwa user:ada",
  since: "Ab",
  until: "Bis",
  filter_by: "Nur {value} zeigen",
  more: "Ältere zeigen",
  none: "Im Protokoll steht noch nichts",
  none_next:
    "Jede Änderung steht hier mit dem, der sie machte, 90 Tage lang. Niemand kann sie ändern oder löschen.",
  none_match: "Kein Eintrag passt",
  none_match_next: "In den letzten 90 Tagen passt nichts zu diesen Filtern.",
  failed: "Das Protokoll konnte nicht gelesen werden.",
  open: "{object} öffnen",
  this_day: "Nur diesen Tag zeigen",
  filter_deed: "Was",
  filter_source: "Von Adresse",
  export_csv: "CSV exportieren",
  export_json: "JSON exportieren",
  export_failed: "Das Protokoll wurde nicht exportiert.",
  nothing: "nichts",
};

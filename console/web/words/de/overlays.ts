// What the palette, the help and the look say, and what each key does; part of the frame that comes when one is opened.
// In German.

import type { words as en } from "../en/overlays.ts";
import type { SameWords } from "../words.ts";

export const words: SameWords<typeof en> = {
  key_help: "Die Tasten zeigen",
  key_search: "Auf dieser Seite suchen",
  key_theme: "Hell oder dunkel",
  key_density: "Dicht oder luftig",
  key_back: "Zurück zur Liste",
  key_palette: "Hingehen, tun, Benutzer finden",
  keys: "Tasten",
  single_keys: "Einzelne Tasten tun etwas",
  single_keys_hint: "Ausschalten, wo Sprache oder ein anderes Programm tippt. Strg K bleibt.",
  palette: "Hingehen oder tun",
  palette_hint: "Eine Seite, eine Handlung oder ein Benutzer",
  palette_empty: "Nichts hier heißt so.",
  language: "Sprache",
  theme: "Farben",
  theme_system: "Wie das System",
  theme_light: "Hell",
  theme_dark: "Dunkel",
  density: "Zeilen",
  density_compact: "Dicht",
  density_cosy: "Luftig",
  key_down: "Nächste Zeile",
  key_up: "Zeile davor",
  key_choose: "Zeile auswählen",
  key_range: "Bis hierher auswählen",
};

// What the palette, the help and the look say, and what each key does; part of the frame that comes when one is opened.
// In English.

export const words = {
  key_help: "Show the keys",
  key_search: "Search on this page",
  key_theme: "Light or dark",
  key_density: "Dense or roomy",
  key_back: "Back to the list",
  key_palette: "Go to, do, find a user",
  keys: "Keys",
  single_keys: "Single keys do something",
  single_keys_hint: "Switch this off where speech or another program types keys. Ctrl K stays.",
  palette: "Go to or do",
  palette_hint: "A page, a deed or a user's name",
  palette_empty: "Nothing here goes by that name.",
  language: "Language",
  theme: "Theme",
  theme_system: "As the system has it",
  theme_light: "Light",
  theme_dark: "Dark",
  density: "Rows",
  density_compact: "Dense",
  density_cosy: "Roomy",
  key_down: "Next row",
  key_up: "Row before",
  key_choose: "Choose the row",
  key_range: "Choose up to here",
} as const;

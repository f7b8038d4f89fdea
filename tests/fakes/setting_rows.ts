// Settings as the API returns them, for tests of the forms.

import type { Setting } from "../../console/web/pages/settings/setting_form.ts";

export type ControlRow = Pick<Setting, "control" | "preset" | "value"> & Partial<Setting>;

/** A setting with its default, unless the row says otherwise. */
export function settingOf(key: string, row: ControlRow): Setting {
  return {
    key,
    topic: "limits",
    doc: "",
    isSecret: false,
    isSet: false,
    source: "default",
    locked: null,
    changed: null,
    problem: null,
    cause: null,
    ...row,
  };
}

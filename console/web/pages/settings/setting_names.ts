// Settings that name a directory or a connector: what there is to choose.

import { draftText, type FormDraft, shownDraft } from "./setting_form.ts";
import type { DirectoryNames, Setting } from "./setting_types.ts";

/** What a setting can name with the values of the form, in order; `null` for other settings. */
export function namesFor(
  { control: { names } }: Setting,
  { settings, directories, draft }: {
    readonly settings: readonly Setting[];
    readonly directories: readonly DirectoryNames[];
    readonly draft: FormDraft;
  },
): readonly string[] | null {
  if (names === undefined) return null;
  if (names === "directories") return directories.map(({ name }) => name);
  const login = settings.find(({ key }) => key === "radius.directory");
  const chosen = login === undefined ? "" : draftText(shownDraft(login, draft));
  return directories.find(({ name }) => name === chosen)?.ldap ?? [];
}

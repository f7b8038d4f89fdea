// The dialog that opens when another administrator changed the directory meanwhile. The form behind it keeps its input.

import { type Signal, signal } from "@preact/signals";
import { lastChangeText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { DiffTable } from "../../components/diff_table.tsx";
import { t } from "../../i18n/translate.ts";
import type { LastChange } from "../../../api/errors.ts";
import { theirChanges, type ThreeTables } from "./directory_form.ts";

interface DirectoryConflict extends ThreeTables {
  readonly lastChange: LastChange;
}

/** `edit`: back to the form. */
type ConflictChoice = "mine" | "theirs" | "edit";

interface OpenConflict {
  readonly conflict: DirectoryConflict;
  readonly choose: (choice: ConflictChoice) => void;
}

const openConflicts = new WeakMap<object, Signal<OpenConflict | null>>();

function openConflict(models: object): Signal<OpenConflict | null> {
  const known = openConflicts.get(models);
  if (known !== undefined) return known;
  const made = signal<OpenConflict | null>(null);
  openConflicts.set(models, made);
  return made;
}

/** Asks the administrator. The page shows {@link DirectoryConflictDialog}. */
export function askAboutConflict(models: object, conflict: DirectoryConflict): Promise<ConflictChoice> {
  const { promise, resolve } = Promise.withResolvers<ConflictChoice>();
  const open = openConflict(models);
  open.value = {
    conflict,
    choose(choice) {
      open.value = null;
      resolve(choice);
    },
  };
  return promise;
}

export function DirectoryConflictDialog({ models }: { models: Models }) {
  const open = openConflict(models.session).value;
  if (open === null) return null;
  const { conflict, choose } = open;
  const rows = theirChanges(conflict);
  return (
    <Dialog
      title={t("targets.conflict_title")}
      onClose={() => choose("edit")}
      wide
      footer={
        <>
          <Button autofocus onClick={() => choose("edit")}>{t("targets.conflict_edit")}</Button>
          <Button onClick={() => choose("theirs")}>{t("targets.conflict_theirs")}</Button>
          <Button kind="primary" onClick={() => choose("mine")}>{t("targets.conflict_mine")}</Button>
        </>
      }
    >
      <Alert tone="wait" role="alert">{lastChangeText(conflict.lastChange)}</Alert>
      {rows.length === 0 ? <p>{t("targets.conflict_secrets")}</p> : (
        <DiffTable
          label={t("targets.conflict_changes")}
          heads={[t("targets.conflict_before"), t("common.now")]}
          rows={rows}
        />
      )}
      <p class="quiet">{t("targets.conflict_why")}</p>
    </Dialog>
  );
}

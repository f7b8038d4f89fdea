// Creates a user with a name that has factors already, but is not in the directory: as after `deno task pair`.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/users/user_types.ts";
import { whyNot } from "../../access_words.ts";
import { useDeed } from "../../models/deed.ts";
import { listUsers } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note, Problem } from "../note.tsx";
import { CreateUserDialog } from "./create_user_dialog.tsx";

const FIRST_ROW = { q: "", page: "1", size: "1", status: "", enrolled: "", backend: "", sync: "" };

export function CreateThisUser({ models, user, calls, page }: UserPart) {
  const creating = useSignal<UserPage | null>(null);
  const { busy, fault, run } = useDeed();
  const { name, target, login } = user;
  /** The dialog needs to know the backends that can take a user. */
  const open = () =>
    void run(async () => {
      creating.value = await listUsers(models, { ...FIRST_ROW, target: login === null ? target : "" });
    });
  return (
    <Note tone="idle">
      {t("people.unknown_next")}{" "}
      <Button small busy={busy.value} reason={whyNot(models, "user_manager")} onClick={open}>
        {t("people.create_this")}
      </Button>
      <Problem of={fault} />
      {creating.value !== null && (
        <CreateUserDialog
          models={models}
          page={creating.value}
          name={name}
          onMade={() => {
            creating.value = null;
            calls.read().then(page.put, () => undefined);
          }}
          onClose={() => creating.value = null}
        />
      )}
    </Note>
  );
}

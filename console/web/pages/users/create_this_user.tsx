// A name that sign-ins use and the directory does not have: a button that creates the user.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/users/user_types.ts";
import { useAction } from "../../app/action.ts";
import { userHref } from "../../app/routes.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchUsers } from "./user_calls.ts";
import type { UserPart } from "./user_page_model.ts";

const CreateUserDialog = lazy(async () => (await import("./create_user_dialog.tsx")).CreateUserDialog);

const FIRST_ROW = { q: "", page: "1", size: "1", status: "", enrolled: "", backend: "", sync: "" };

export function CreateThisUser({ models, user, calls, page }: UserPart) {
  const creating = useSignal<UserPage | null>(null);
  const { busy, fault, run } = useAction();
  const { name, target, login, renamedTo } = user;
  const shownTarget = login === null ? target : "";
  /** The dialog needs the backends of the target. */
  const open = () =>
    void run(async () => {
      creating.value = await fetchUsers(models, { ...FIRST_ROW, target: shownTarget });
    });
  return (
    <Alert tone="idle">
      {t("users.unknown_next")} {renamedTo !== null && (
        <>
          {t("users.now_named")} <a href={userHref(renamedTo, shownTarget)}>{renamedTo}</a>
          {" "}
        </>
      )}
      <Button small busy={busy.value} reason={permissionHint(models, "user_manager")} onClick={open}>
        {t("users.create_this")}
      </Button>
      <ErrorAlert of={fault} />
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
    </Alert>
  );
}

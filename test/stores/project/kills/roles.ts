/** What is killed. The judges compare what is left with what was given to do; they do not believe the workers. */
import { changefeedRole } from "./changefeed-role.js";
import { compactorRole } from "./compactor-role.js";
import { drainerRole } from "./drainer-role.js";
import { changelogRole, transactionalRole } from "./projector-roles.js";
import { removerRole } from "./remover-role.js";
import type { Role } from "./role.js";

export type RoleName = "compactor" | "drainer" | "changelog" | "transactional" | "changefeed" | "remover";

export const ROLES: Readonly<Record<RoleName, Role>> = {
  compactor: compactorRole,
  drainer: drainerRole,
  changelog: changelogRole,
  transactional: transactionalRole,
  changefeed: changefeedRole,
  remover: removerRole,
};

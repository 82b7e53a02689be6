/** The place of a named piece of work, kept in the store while it is unfinished. Without a name nothing is kept. */
import { BusError } from "../../model/errors.js";
import type { JsonValue } from "../../model/json.js";
import type { Registry } from "../../ports/registry.js";

export class ResumePoint<V extends JsonValue> {
  readonly #registry: Registry;
  readonly #token: string | undefined;
  #revision: number;
  /** As it was found. */
  readonly value: V | undefined;

  private constructor(registry: Registry, token: string | undefined, value?: V, revision = 0) {
    this.#registry = registry;
    this.#token = token;
    this.value = value;
    this.#revision = revision;
  }

  static async load<V extends JsonValue>(
    registry: Registry,
    kind: string,
    name: string | undefined,
  ): Promise<ResumePoint<V>> {
    if (name === undefined) return new ResumePoint<V>(registry, undefined);
    const tokenName = `${kind}:${name}`;
    const token = await registry.token(tokenName);
    return new ResumePoint<V>(registry, tokenName, token?.value as V | undefined, token?.revision);
  }

  /** WRITE_CONFLICT if somebody else does the same work under the same name. */
  async save(value: V): Promise<void> {
    if (this.#token !== undefined) await this.#put(this.#token, value);
  }

  async forget(): Promise<void> {
    if (this.#token !== undefined && this.#revision > 0) await this.#put(this.#token, null);
  }

  async #put(token: string, value: JsonValue): Promise<void> {
    try {
      this.#revision = await this.#registry.putToken(token, value, { expected: this.#revision });
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
      throw inWords(token, error);
    }
  }
}

function inWords(token: string, cause: BusError): BusError {
  const { code, retryable, details } = cause;
  const what = token.replace(":", " under the name ");
  const message = `another ${what} is under way, or was a moment ago; begun again, it goes on from there`;
  return new BusError(code, message, { cause, retryable, ...(details && { details }) });
}

/** What the compiler knows of the fields of a view: a name that is misspelt is an error where the query is written. */
import type { JsonObject } from "../../model/json.js";
import type { FieldCondition, FieldValue } from "../../ports/documents.js";

/** Of a view of which nothing is said, any field may be asked for. */
type Told<T> = unknown extends T ? JsonObject : T;
/** The names of all members of a union, not only those that all of them have. */
type NameOf<T> = T extends unknown ? keyof T & string : never;
type ValueOf<T, Name extends string> = T extends unknown ? (Name extends keyof T ? T[Name] : never) : never;
/** Fields that have fields. */
type OuterName<T> = {
  [Name in NameOf<T>]: Extract<ValueOf<T, Name>, object> extends never ? never : Name;
}[NameOf<T>];
type Path<T> = `${OuterName<T>}.${string}`;

/** A field of the documents of a view, a path into one (`"address.city"`), or `_key`. */
export type ViewField<T = JsonObject> = NameOf<Told<T>> | Path<Told<T>> | "_key";

/** All that are given hold. Only what the field can be is compared with it. */
interface ConditionOn<Value extends FieldValue> extends Omit<FieldCondition, "eq" | "ne" | "in"> {
  readonly eq?: Value;
  readonly ne?: Value;
  readonly in?: readonly Value[];
}
type Asked<Value extends FieldValue> = Value | ConditionOn<Value>;

/** Conditions by field, typed by the documents of the view. */
export type ViewConditions<T = JsonObject> = {
  readonly [Name in NameOf<Told<T>>]?: Asked<Extract<ValueOf<Told<T>, Name>, FieldValue>>;
} & { readonly [Inner in Path<Told<T>>]?: FieldValue | FieldCondition } & {
  readonly _key?: Asked<string>;
};

export function SchemasPage() {
  return null;
}

/** A proxy of the object with other methods in place of its own. The object is unchanged. */
export function replaceMethods<Part extends object>(part: Part, methods: Partial<Part>): Part {
  return new Proxy(part, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' ? (method.bind(target) as unknown) : method
    },
  })
}

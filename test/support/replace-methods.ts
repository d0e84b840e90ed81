/** The same object, but these methods are replaced. */
export function replaceMethods<Part extends object>(part: Part, methods: Partial<Part>): Part {
  return new Proxy(part, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' ? (method.bind(target) as unknown) : method
    },
  })
}

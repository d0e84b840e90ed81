import type { ResponseLog } from '../../store/log/responses.ts'

/** The same log, but these methods are replaced. */
export function replaceMethods(log: ResponseLog, methods: Partial<ResponseLog>): ResponseLog {
  return new Proxy(log, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' ? (method.bind(target) as unknown) : method
    },
  })
}

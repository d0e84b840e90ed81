/** Starts a service before the tests of a group and stops it after them. */
import type { TestService } from './service.ts'
import { buyOverTransports } from './transports.ts'

type Startable = Pick<TestService, 'url' | 'pay' | 'stop'>

/** Returns the service, which runs in the tests of the group, and the requests to it. */
export function useService<Service extends Startable>(start: () => Promise<Service>) {
  let running: Service | undefined
  before(async () => void (running = await start()))
  after(() => running?.stop())
  const service = new Proxy({} as Service, { get: (_, name) => Reflect.get(running!, name) as unknown })
  return { service, ...buyOverTransports(() => service) }
}

/** The routes of the application are those of the list, which OpenAPI describes, and the pages that are named here. */
import { expect } from 'chai'
import { matcherOf } from '../../agent/operation/resource.ts'
import { ASSETS } from '../../rest-facade/documents/assets.ts'
import { buildOpenApi } from '../../rest-facade/documents/openapi.ts'
import { describeRoutes, listRoutes } from '../../rest-facade/routes.ts'
import { deploymentOf } from '../support/deployment.ts'
import { startScriptedApp } from '../spec/scripted-app.ts'

/** What people and crawlers read, and what leads to the descriptions. */
const PAGES = [
  '/',
  '/docs',
  ...['/docs/api', '/docs/a2a', '/docs/mcp'].flatMap((path) => [path, `${path}.md`]),
  '/llms.txt',
  '/robots.txt',
  '/testnet-client.py',
  '/.well-known/api-catalog',
]

/** A layer of the router of Express, which has a route or is a middleware. */
interface Layer {
  name: string
  route?: { path: RegExp | string; stack: { method?: string }[] }
}

describe('the routes of the application', () => {
  let layers: Layer[]
  before(async () => {
    const started = await startScriptedApp()
    layers = started.app.router.stack
    await started.stop()
  })

  it('are those of the list and the pages, and no middleware answers another path', () => {
    const routes = layers.flatMap(({ route }) => (route ? [route] : []))
    const listed = listRoutes(deploymentOf('testnet')).map(({ path }) => path)
    expect(routes.map(({ path }) => String(path))).to.have.members(
      [...listed, ...PAGES, ...ASSETS.keys()].map((path) => String(matcherOf(path))),
    )
    // Each answers every method, so that none lacks its 405.
    expect(routes.flatMap(({ stack }) => stack.flatMap(({ method }) => method ?? []))).to.deep.equal([])
    expect(layers.filter(({ route }) => !route).map(({ name }) => name)).to.deep.equal([
      'answerPreflight',
      'refuseInvalidEncoding',
      'answerMissing',
      'answerFailure',
    ])
  })

  for (const mode of ['testnet', 'mainnet'] as const)
    for (const a2aEnabled of [true, false])
      it(`of the list are the paths of OpenAPI on ${mode} ${a2aEnabled ? 'with' : 'without'} A2A`, () => {
        const deployment = deploymentOf(mode, { a2aEnabled })
        const paths = Object.entries(buildOpenApi(deployment, '').paths)
        expect(paths.map(([path, methods]) => `${Object.keys(methods).join()} ${path}`)).to.deep.equal(
          listRoutes(deployment).map(({ allow, path }) => `${allow === 'POST' ? 'post' : 'get'} ${path}`),
        )
        for (const { operationId, summary, refusals } of describeRoutes(deployment)) {
          expect(operationId).to.match(/^[a-z]\w+$/)
          expect(summary).not.to.equal('')
          expect(refusals).to.include('method_not_allowed')
        }
      })

  it('match one slash at the end, and no other character for a point', () => {
    for (const [path, matches, others] of [
      ['/', ['/'], ['//', '', '/a']],
      [
        '/docs/api.md',
        ['/docs/api.md', '/docs/api.md/'],
        ['/docs/api.md//', '/docs/apiXmd', '/Docs/api.md', '//docs/api.md'],
      ],
      ['/a/{b}', ['/a/', '/a/1', '/a/1/', '/a/%zz'], ['/a', '/a//', '/a/1//', '/a/1/2']],
      ['/a/{b}/c', ['/a/1/c', '/a/1/c/'], ['/a//c', '/a/c', '/a/1/c/d']],
    ] as const) {
      const matcher = matcherOf(path)
      for (const each of matches) expect(matcher.exec(each), each).to.have.lengthOf(1)
      for (const each of others) expect(matcher.test(each), each).to.equal(false)
    }
  })
})

// SPDX-License-Identifier: Apache-2.0
/* The bodies of a robot and how joints move them (three.js, THREE), from what `rbd_dynamics.scene.scene_of` says of it.
   Needs no browser. */
class RobotTree {
  constructor(robot) {
    this.robot = robot;
    this.world = new THREE.Scene();
    this.bodies = robot.bodies.map((body, k) => this.bodyOf(body, k));
    this.bodies.forEach((body, k) => (this.bodies[robot.bodies[k].parent] || this.base()).moved.add(body.placed));
    this.world.add(this.base().placed);
  }

  base() {
    if (!this.ground) {
      this.ground = {placed: new THREE.Group(), moved: new THREE.Group(), material: RobotTree.matt(), tint: null, painted: []};
      this.ground.placed.add(this.ground.moved);
    }
    return this.ground;
  }

  bodyOf(body, index) {
    const placed = new THREE.Group(), moved = new THREE.Group();
    placed.applyMatrix4(RobotTree.matrixOf(body.at));
    placed.add(moved);
    return {placed, moved, material: RobotTree.matt(), tint: null, painted: [], marker: null, even: index % 2 === 0};
  }

  static matt() { return new THREE.MeshLambertMaterial({side: THREE.DoubleSide}); }

  static matrixOf(at) { return new THREE.Matrix4().set(...at, 0, 0, 0, 1); }

  /* positions: {joint: rad or m}; joints that are not named stand at zero. poses: {body: the upper three rows of its
     matrix in its parent}, of bodies that no single screw moves. */
  setPositions(positions, poses = {}) {
    for (const index in poses) {
      const {position, quaternion, scale} = this.bodies[index].placed;
      RobotTree.matrixOf(poses[index]).decompose(position, quaternion, scale);
    }
    this.robot.bodies.forEach((body, k) => {
      if (!body.twist) return;
      const q = body.multiplier * (positions[body.joint] || 0) + body.offset;
      const [wx, wy, wz, vx, vy, vz] = body.twist, moved = this.bodies[k].moved;
      const axis = new THREE.Vector3(wx, wy, wz), along = new THREE.Vector3(vx, vy, vz);
      if (axis.lengthSq() === 0) { moved.position.copy(along.multiplyScalar(q)); return; }
      const point = axis.clone().cross(along), pitch = axis.dot(along);
      moved.quaternion.setFromAxisAngle(axis, q);
      moved.position.copy(point).sub(point.clone().applyQuaternion(moved.quaternion)).addScaledVector(axis, pitch * q);
    });
    this.draw();
  }

  /* The point (x, y, z), m, of a body's frame in the world. */
  originOf(index) {
    return new THREE.Vector3().setFromMatrixPosition(this.poseOf(index)).toArray();
  }

  /* The matrix of a body's frame in the world, with -1 that of the world. */
  poseOf(index) {
    this.world.updateMatrixWorld(true);
    return (this.bodies[index] || this.base()).moved.matrixWorld;
  }

  draw() {}  // where there is nothing to look at
}

/* A robot in 3-D. Drag to turn, two fingers or the wheel (once clicked) to zoom, right button or Shift to move; arrows,
   + and - on keys. A swipe up or down on a touch screen scrolls the page. */
class RobotView extends RobotTree {
  /* host: an element, which the view fills. Throws where the browser has no WebGL. */
  constructor(host, robot) {
    super(robot);
    this.renderer = new THREE.WebGLRenderer({antialias: true, alpha: true});
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "The robot " + robot.name);
    this.canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:pan-y;cursor:grab";
    host.append(this.canvas);
    this.camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.light = new THREE.DirectionalLight(0xffffff, 0.75);
    this.world.add(new THREE.HemisphereLight(0xffffff, 0x667788, 0.6), this.light);
    this.meshes = robot.meshes.map(RobotView.geometryOf);
    this.parts = {shapes: []};
    for (const shape of robot.shapes) this.addShape(shape);
    this.setPositions({});
    this.fit([{}]);
    this.colour({link: "#9aa4af", other: "#b9c1c9", line: "#808890", outline: "#000000"});
    this.listen();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  // --- shapes ---------------------------------------------------------------------------------------------------

  addShape(shape) {
    const owner = this.bodies[shape.body] || this.base(), group = new THREE.Group();
    const own = shape.colour && RobotView.painted(shape);
    for (const geometry of this.geometriesOf(shape)) {
      const mesh = new THREE.Mesh(geometry, own || owner.material);
      group.add(mesh);
      if (own) owner.painted.push({mesh, own});
    }
    if (shape.kind === "mesh") group.scale.set(...shape.size);
    const placed = new THREE.Group();
    placed.applyMatrix4(RobotTree.matrixOf(shape.at));
    placed.add(group);
    placed.userData.body = shape.body;
    owner.moved.add(placed);
    this.parts.shapes.push(placed);
  }

  static painted({colour, opacity}) {
    const material = RobotTree.matt();
    material.color.set(colour);
    Object.assign(material, {opacity, transparent: opacity < 1});
    return material;
  }

  /* Marks in bodies' frames (body -1: the world's), seen through shapes; `show` makes them visible.
     mark: {body, kind: "frame", at, size: its length} or {body, kind: "ellipsoid", at, size: its semi-axes}. */
  addMarks(name, marks) {
    this.parts[name] = marks.map(mark => {
      const placed = new THREE.Group();
      placed.applyMatrix4(RobotTree.matrixOf(mark.at));
      placed.add(...(mark.kind === "frame" ? RobotView.axes(mark.size) : [RobotView.ellipsoid(mark.size)]));
      placed.visible = false;
      (this.bodies[mark.body] || this.base()).moved.add(placed);
      return placed;
    });
  }

  static seenThrough(colour, opacity) {
    return new THREE.MeshBasicMaterial({color: colour, depthTest: false, transparent: true, opacity});
  }

  /* x red, y green, z blue. */
  static axes(length) {
    return ["#d93025", "#1e9e3e", "#2f6fe0"].map((colour, k) => {
      const size = [0, 1, 2].map(axis => (axis === k ? 1 : 0.05) * length), middle = [0, 0, 0];
      middle[k] = length / 2;
      const bar = new THREE.Mesh(new THREE.BoxGeometry(...size).translate(...middle), RobotView.seenThrough(colour, 1));
      bar.renderOrder = 8;
      return bar;
    });
  }

  static ellipsoid(size) {
    const look = {color: "#e06a10", depthTest: false, transparent: true, opacity: 0.5};
    const ball = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 20), new THREE.MeshLambertMaterial(look));
    ball.scale.set(...size);
    ball.renderOrder = 7;
    return ball;
  }

  /* A ball at a point (x, y, z) of the world, and a line from there to the ground; null for none. */
  markPoint(point) {
    if (!this.point) {
      const ball = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), RobotView.seenThrough("#b0006e", 0.9));
      const line = new THREE.Mesh(new THREE.CylinderGeometry(0.15, 0.15, 1, 8).rotateX(Math.PI / 2), ball.material);
      this.point = {ball, line};
      for (const part of [ball, line]) {
        part.renderOrder = 9;
        this.world.add(part);
      }
    }
    const {ball, line} = this.point, size = 0.02 * this.size, floor = this.robot.floor || 0;
    ball.visible = line.visible = point !== null;
    if (point) {
      ball.position.set(...point);
      ball.scale.setScalar(size);
      line.position.set(point[0], point[1], (point[2] + floor) / 2);
      line.scale.set(size, size, Math.max(Math.abs(point[2] - floor), 1e-6));
    }
    this.draw();
  }

  /* Of "shapes" or the marks of a name. */
  show(name, visible) {
    for (const part of this.parts[name]) part.visible = visible;
    this.draw();
  }

  geometriesOf({kind, size, mesh}) {
    const upright = (radius, length) => new THREE.CylinderGeometry(radius, radius, length, 32).rotateX(Math.PI / 2);
    if (kind === "mesh") return [this.meshes[mesh]];
    if (kind === "box") return [new THREE.BoxGeometry(...size)];
    if (kind === "sphere") return [new THREE.SphereGeometry(size[0], 32, 20)];
    if (kind === "cylinder") return [upright(...size)];
    if (kind === "ellipsoid") return [new THREE.SphereGeometry(1, 32, 20).scale(...size)];
    if (kind === "cone") return [new THREE.ConeGeometry(size[0], size[1], 32).rotateX(Math.PI / 2)];
    const end = side => new THREE.SphereGeometry(size[0], 24, 16).translate(0, 0, side * size[1] / 2);
    return [upright(...size), end(1), end(-1)];
  }

  static geometryOf(mesh) {
    const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;
    const steps = new Uint16Array(bytes(mesh.points));
    const points = Float32Array.from(steps, (step, k) => mesh.low[k % 3] + step * mesh.step[k % 3]);
    const corners = mesh.wide ? new Uint32Array(bytes(mesh.triangles)) : new Uint16Array(bytes(mesh.triangles));
    const geometry = new THREE.BufferGeometry();
    const [place, normal] = RobotView.creased(points, corners, Math.cos(0.6));
    geometry.setAttribute("position", new THREE.BufferAttribute(place, 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(normal, 3));
    return geometry;
  }

  /* Corners of their own for each triangle, with normals that are smooth but over edges: (positions, normals). */
  static creased(points, corners, smooth) {
    const count = corners.length / 3, faces = new Float32Array(3 * count), unit = new Float32Array(3 * count);
    const place = new Float32Array(3 * corners.length), normal = new Float32Array(3 * corners.length);
    const around = new Uint32Array(points.length / 3 + 1), a = [0, 0, 0], b = [0, 0, 0];
    for (let face = 0; face < count; face++) {
      for (let axis = 0; axis < 3; axis++) {
        const [x, y, z] = [0, 1, 2].map(corner => points[3 * corners[3 * face + corner] + axis]);
        a[axis] = y - x; b[axis] = z - x;
      }
      faces.set([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], 3 * face);
      const size = Math.hypot(faces[3 * face], faces[3 * face + 1], faces[3 * face + 2]) || 1;
      for (let axis = 0; axis < 3; axis++) unit[3 * face + axis] = faces[3 * face + axis] / size;
    }
    for (const point of corners) around[point + 1]++;
    for (let k = 1; k < around.length; k++) around[k] += around[k - 1];
    const free = around.slice(), near = new Uint32Array(corners.length);
    corners.forEach((point, k) => { near[free[point]++] = Math.floor(k / 3); });
    corners.forEach((point, k) => {
      const own = 3 * Math.floor(k / 3);
      let x = 0, y = 0, z = 0;
      for (let n = around[point]; n < around[point + 1]; n++) {
        const other = 3 * near[n];
        if (unit[own] * unit[other] + unit[own + 1] * unit[other + 1] + unit[own + 2] * unit[other + 2] < smooth) continue;
        x += faces[other]; y += faces[other + 1]; z += faces[other + 2];
      }
      const size = Math.hypot(x, y, z) || 1;
      normal.set([x / size, y / size, z / size], 3 * k);
      place.set(points.subarray(3 * point, 3 * point + 3), 3 * k);
    });
    return [place, normal];
  }

  /* Look so that all of these are in sight: arguments of `setPositions`, one posture after the other. */
  fit(postures, poses = []) {
    const box = new THREE.Box3();
    for (const [k, positions] of postures.entries()) {
      this.setPositions(positions, poses[k]);
      this.world.updateMatrixWorld(true);
      box.union(new THREE.Box3().setFromObject(this.base().placed));
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-0.5, -0.5, 0), new THREE.Vector3(0.5, 0.5, 1));
    const edges = box.getSize(new THREE.Vector3());
    this.size = Math.max(0.6 * Math.max(edges.x, edges.y, edges.z), 1e-3);
    this.home = {target: box.getCenter(new THREE.Vector3()), around: 0.9, up: 0.35};
    this.setGround();
    this.resetView();
  }

  setGround() {
    if (this.grid) this.world.remove(this.grid);
    const rough = this.size / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(digit => rough <= digit * power), cells = 2 * Math.ceil(this.size / step);
    this.grid = new THREE.GridHelper(cells * step, cells);
    this.grid.rotation.x = Math.PI / 2;
    this.grid.position.z = this.robot.floor || 0;
    this.grid.material = new THREE.LineBasicMaterial({transparent: true, opacity: 0.35, color: this.lineColour || "#808890"});
    this.world.add(this.grid);
  }

  // --- colours --------------------------------------------------------------------------------------------------

  /* link, other: of bodies, in turn; line: of the ground; outline: around the rings of joints. */
  colour({link, other, line, outline}) {
    this.shades = [link, other];
    this.lineColour = line;
    this.grid.material.color.set(line);
    this.outline = outline;
    for (const body of [this.base(), ...this.bodies]) {
      body.material.color.set(body.tint || this.shades[body.even ? 0 : 1]);
      if (body.marker) body.marker.edge.color.set(outline);
    }
    this.draw();
  }

  /* colour: of a body, by its number; null: its own. */
  tintBody(index, colour) {
    const body = this.bodies[index];
    body.tint = colour;
    for (const {mesh, own} of body.painted) mesh.material = colour ? body.material : own;
    body.material.color.set(colour || this.shades[body.even ? 0 : 1]);
    this.draw();
  }

  /* A ring about the axis of each body that a joint moves, seen through all else; of a sliding one a bar along it.
     colour: null for none. */
  markJoint(name, colour) {
    this.robot.bodies.forEach((body, k) => {
      if (body.joint !== name || !body.twist) return;
      const own = this.bodies[k];
      own.marker = own.marker || this.markerOf(body.twist, own);
      own.marker.fill.visible = own.marker.edge.visible = colour !== null;
      if (colour !== null) own.marker.fill.color.set(colour);
    });
    this.draw();
  }

  markerOf(twist, own) {
    const axis = new THREE.Vector3(...twist.slice(0, 3)), along = new THREE.Vector3(...twist.slice(3));
    const turns = axis.lengthSq() > 0, size = 0.075 * this.size, marker = new THREE.Group();
    const parts = {fill: null, edge: null};
    for (const [part, more, order] of [["edge", 0.008 * this.size, 10], ["fill", 0, 11]]) {
      const thick = 0.018 * this.size + more;
      const geometry = turns ? new THREE.TorusGeometry(size, thick, 12, 40) :
        new THREE.BoxGeometry(2 * thick, 2 * thick, 2 * size + 2 * more);
      parts[part] = new THREE.MeshBasicMaterial({depthTest: false, transparent: true, color: this.outline});
      const mesh = new THREE.Mesh(geometry, parts[part]);
      mesh.renderOrder = order;
      marker.add(mesh);
    }
    marker.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), (turns ? axis : along).clone().normalize());
    if (turns) marker.position.copy(axis.clone().cross(along));
    own.moved.add(marker);
    return parts;
  }

  // --- view -----------------------------------------------------------------------------------------------------

  resetView() {
    this.look = {...this.home, target: this.home.target.clone(), zoom: 1};
    this.draw();
  }

  turn(around, up) {
    this.look.around += around;
    this.look.up = Math.max(-1.5, Math.min(1.5, this.look.up + up));
    this.draw();
  }

  zoom(factor) {
    this.look.zoom = Math.max(0.2, Math.min(8, this.look.zoom * factor));
    this.draw();
  }

  move(dx, dy) {
    const unit = 2 * this.distance() * Math.tan(this.camera.fov * Math.PI / 360) / this.canvas.clientHeight;
    const side = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 1);
    this.look.target.addScaledVector(side, -dx * unit).addScaledVector(up, dy * unit);
    this.draw();
  }

  distance() {
    const narrow = Math.min(1, this.camera.aspect), half = Math.atan(Math.tan(this.camera.fov * Math.PI / 360) * narrow);
    return 0.95 * this.size / Math.sin(half) / this.look.zoom;
  }

  listen() {
    const canvas = this.canvas, fingers = new Map();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    };
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", event => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
      const apart = fingers.size === 2 ? spread() : 0;
      fingers.set(event.pointerId, event);
      if (apart) { this.zoom(spread() / apart); this.turn(-dx / 300, dy / 300); }
      else if (event.buttons === 2 || event.shiftKey) this.move(dx, dy);
      else this.turn(-dx / 120, event.pointerType === "touch" ? 0 : dy / 120);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => fingers.delete(event.pointerId));
    canvas.addEventListener("contextmenu", event => event.preventDefault());
    canvas.addEventListener("wheel", event => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;  // else the page cannot be scrolled past it
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 600));
    }, {passive: false});
    canvas.addEventListener("dblclick", () => this.resetView());
    const keys = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]};
    canvas.addEventListener("keydown", event => {
      if (keys[event.key]) this.turn(...keys[event.key]);
      else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.15 : 1 / 1.15);
      else return;
      event.preventDefault();
    });
  }

  resize() {
    const {clientWidth: width, clientHeight: height} = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.draw();
  }

  /* Once for all that changes until the next picture. */
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      const {target, around, up} = this.look, far = this.distance();
      const way = new THREE.Vector3(Math.cos(up) * Math.cos(around), Math.cos(up) * Math.sin(around), Math.sin(up));
      this.camera.position.copy(target).addScaledVector(way, far);
      this.camera.near = far / 100;
      this.camera.far = far * 10;
      this.camera.lookAt(target);
      this.camera.updateProjectionMatrix();
      this.light.position.copy(this.camera.position).add(new THREE.Vector3(0, 0, this.size));
      this.renderer.render(this.world, this.camera);
    });
  }
}

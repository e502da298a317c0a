// SPDX-License-Identifier: Apache-2.0
/* A hand that takes the robot where the pointer is, and moves in the plane of the picture. Beside the robot the view turns.
   Calls arm.grab(body, point in its frame), which says whether it holds, arm.move(target in the world) and arm.drop(). */
class Hand {
  constructor(view, host, arm) {
    Object.assign(this, {view, arm, held: null});
    const events = {pointerdown: "down", pointermove: "moved", pointerup: "up", pointercancel: "up"};
    for (const name in events) host.addEventListener(name, event => this[events[name]](event), {capture: true});
  }

  down(event) {
    if (this.held || event.button !== 0 || event.shiftKey || !event.isPrimary || event.target !== this.view.canvas) return;
    const found = this.pick(event);
    if (!found || !this.arm.grab(found.body, this.within(found))) return;
    event.stopPropagation();
    event.target.setPointerCapture(event.pointerId);
    event.target.focus({preventScroll: true});
    const facing = this.view.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(facing, found.point);
    this.held = {pointer: event.pointerId, plane, ...found};
  }

  moved(event) {
    if (!this.held || event.pointerId !== this.held.pointer) return;
    event.stopPropagation();
    const target = this.ray(event).ray.intersectPlane(this.held.plane, new THREE.Vector3());
    if (target) this.arm.move(target.toArray());
  }

  up(event) {
    if (!this.held || event.pointerId !== this.held.pointer) return;
    this.held = null;
    this.arm.drop();
  }

  ray(event) {
    const box = this.view.canvas.getBoundingClientRect(), caster = new THREE.Raycaster();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    caster.setFromCamera(new THREE.Vector2(2 * x - 1, 1 - 2 * y), this.view.camera);
    return caster;
  }

  /* The first body that the pointer meets, and where, in the world. */
  pick(event) {
    const [first] = this.ray(event).intersectObjects(this.view.parts.shapes.filter(shape => shape.visible), true);
    if (!first) return null;
    let shape = first.object;
    while (shape.userData.body === undefined) shape = shape.parent;
    return shape.userData.body < 0 ? null : {body: shape.userData.body, point: first.point};
  }

  within({body, point}) {
    return point.clone().applyMatrix4(this.view.poseOf(body).clone().invert()).toArray();
  }
}
